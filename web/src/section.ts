// The cut of a region with a plane, as a polygon.

import type { Region } from "./data";

export type Point2 = [number, number];

/** The part of a polygon where a x + b y ≤ c (Sutherland and Hodgman). */
function clip(polygon: Point2[], a: number, b: number, c: number): Point2[] {
  const result: Point2[] = [];
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length];
    const fp = a * p[0] + b * p[1] - c;
    const fq = a * q[0] + b * q[1] - c;
    if (fp <= 0) result.push(p);
    if ((fp < 0 && fq > 0) || (fp > 0 && fq < 0)) {
      const s = fp / (fp - fq);
      result.push([p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])]);
    }
  });
  return result;
}

/** In axes i and j, of which `view` says what is seen; no edge may be seen where the region goes on beyond that. */
export function crossSection(region: Region, i: number, j: number, view: Point2[]): Point2[] {
  const kFar = 1000;
  const [[x0, x1], [y0, y1]] = [i, j].map((k) => {
    const [from, to] = view[k];
    return [from - kFar * (to - from), to + kFar * (to - from)];
  });
  let polygon: Point2[] = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
  region.rows.forEach((row, r) => {
    polygon = clip(polygon, row[i], row[j], region.margins[r] + row[i] * region.at[i] + row[j] * region.at[j]);
  });
  return polygon;
}
