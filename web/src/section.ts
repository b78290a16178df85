// What is seen of a region in two axes, as a polygon.

import type { Box, Curve, Region } from "./data";

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

const dot = (a: number[], b: number[]): number => a.reduce((sum, value, i) => sum + value * b[i], 0);
const times = (matrix: number[][], vector: number[]): number[] => matrix.map((row) => dot(row, vector));

/** A vector that a positive semi-definite matrix makes longest: the matrix is squared until that is all it holds. */
function longest(matrix: number[][]): number[] {
  const kSquarings = 14;
  const n = matrix.length;
  let power = matrix;
  for (let s = 0; s < kSquarings; ++s) {
    const trace = power.reduce((sum, row, i) => sum + row[i], 0) || 1;
    const scaled = power.map((row) => row.map((value) => value / trace));
    power = scaled.map((row) => scaled.map((other) => dot(row, other)));
  }
  let best = 0;
  for (let i = 1; i < n; ++i) if (power[i][i] > power[best][best]) best = i;
  const length = Math.sqrt(dot(power[best], power[best]));
  return length > 0 ? power[best].map((value) => value / length) : power[best].map((_, i) => (i === best ? 1 : 0));
}

/** How far a curve is reached at a point, 1 being its bound, and how that grows along two axes; convex in the point. */
function slopeAt({ theta, root }: Curve, fromOrigin: number[], axes: number[]): { value: number; slopes: number[] } {
  const n = root.length;
  const actions = theta.length - n;
  const stacked = theta.map((_, r) =>
    root.map((_, c) => {
      if (r < n) return r === c ? 1 : 0;
      let sum = 0;
      for (let k = 0; k < n; ++k) sum += fromOrigin[(r - n) * n + k] * root[k][c];
      return sum;
    }),
  );
  const columns = root.map((_, c) => stacked.map((row) => row[c]));
  const weightedColumns = columns.map((column) => times(theta, column));
  const worst = longest(columns.map((column) => weightedColumns.map((weighted) => dot(column, weighted))));
  const weighted = times(theta, times(stacked, worst));
  const seen = times(root, worst);
  const value = Math.sqrt(Math.max(0, dot(times(stacked, worst), weighted)));
  const slopes = axes.map((k) => (value > 0 && k < n * actions ? (weighted[n + Math.floor(k / n)] * seen[k % n]) / value : 0));
  return { value, slopes };
}

/** Cuts off by tangents what curves leave out, as lifeguard/report/chart.cpp does. */
function cutByCurves(start: Point2[], region: Region, axes: number[], view: Point2[]): Point2[] {
  const kTolerance = 1e-3; // of what is seen
  const kRounding = 1e-5;
  const kMostCuts = 400;
  const { curves = [], curved_from: from = [] } = region;
  const size = axes.map((k) => view[k][1] - view[k][0]);
  const slopes = new Map<Point2, { a: number; b: number; c: number; depth: number } | null>();
  const place = region.at.map((value, k) => value - from[k]);
  /** The cut that takes most away at a corner; null if it is inside. */
  const cutAt = (corner: Point2) => {
    let far = 1; // what is far from what is seen need not be as exact
    axes.forEach((k, i) => {
      place[k] = corner[i] - from[k];
      far = Math.max(far, Math.abs(corner[i] - (view[k][0] + view[k][1]) / 2) / size[i]);
    });
    let best: { a: number; b: number; c: number; depth: number } | null = null;
    for (const curve of curves) {
      const { value, slopes: [a, b] } = slopeAt(curve, place, axes);
      if (value <= 1 + kRounding) continue;
      const length = Math.hypot(a * size[0], b * size[1]);
      const depth = length > 1e-12 ? (value - 1) / length / far : Infinity;
      if (depth > (best?.depth ?? kTolerance)) best = { a, b, c: 1 - value + a * corner[0] + b * corner[1], depth };
    }
    return best;
  };
  let polygon = start;
  for (let cuts = 0; curves.length && cuts < kMostCuts && polygon.length; ++cuts) {
    for (const corner of polygon) if (!slopes.has(corner)) slopes.set(corner, cutAt(corner));
    const cut = polygon.map((corner) => slopes.get(corner)!).reduce((a, b) => ((b?.depth ?? 0) > (a?.depth ?? 0) ? b : a));
    if (!cut) break;
    if (cut.depth === Infinity) return []; // no way leads inside
    polygon = clip(polygon, cut.a, cut.b, cut.c);
  }
  return polygon;
}

/** The outline of the shadow of all p with (p - at)ᵀ spread⁻¹ (p - at) ≤ 1 in two axes. */
export function outlineOf({ spread, at }: { spread: number[][]; at: number[] }, i: number, j: number): Point2[] {
  const kCorners = 120;
  const a = Math.sqrt(Math.max(0, spread[i][i]));
  const b = a > 0 ? spread[i][j] / a : 0;
  const c = Math.sqrt(Math.max(0, spread[j][j] - b * b));
  return Array.from({ length: kCorners }, (_, k): Point2 => {
    const [cos, sin] = [Math.cos((2 * Math.PI * k) / kCorners), Math.sin((2 * Math.PI * k) / kCorners)];
    return [at[i] + a * cos, at[j] + b * cos + c * sin];
  });
}

/** In axes i and j, of which `view` says what is seen; no edge may be seen where the region goes on beyond that. */
export function crossSection(region: Region, i: number, j: number, view: Point2[]): Point2[] {
  if (region.ellipsoid) return outlineOf({ spread: region.ellipsoid, at: region.at }, i, j);
  const kFar = 1000;
  const [[x0, x1], [y0, y1]] = [i, j].map((k) => {
    const [from, to] = view[k];
    return [from - kFar * (to - from), to + kFar * (to - from)];
  });
  let polygon: Point2[] = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
  (region.rows ?? []).forEach((row, r) => {
    polygon = clip(polygon, row[i], row[j], region.margins![r] + row[i] * region.at[i] + row[j] * region.at[j]);
  });
  return cutByCurves(polygon, region, [i, j], view);
}

/** The sides of a box that are not at infinity; an end at infinity is that of the view. */
export function sidesOf({ low, high }: Box, i: number, j: number, view: Point2[]): Point2[][] {
  const ends = (k: number): Point2 => [low[k] ?? view[k][0], high[k] ?? view[k][1]];
  const [[x0, x1], [y0, y1]] = [ends(i), ends(j)];
  const across = [low[i], high[i]].filter((x) => x !== null).map((x): Point2[] => [[x, y0], [x, y1]]);
  const up = [low[j], high[j]].filter((y) => y !== null).map((y): Point2[] => [[x0, y], [x1, y]]);
  return [...across, ...up];
}
