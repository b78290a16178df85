// The chosen task's system under its first and its last policy, side by side, from the same start.

import type { Run, Signal, Task } from "./data";
import { Choice, h, svg } from "./elements";
import { QuadrotorScene } from "./quadrotor";

/** Draws frame `index` of a flight, whose frames are the drawn signals relative to the goal. */
interface Scene {
  readonly element: Element;
  draw(frame: number[], index: number, flight: number[][]): void;
}

const kWidth = 320;
const kHeight = 200;

function drawing(): SVGElement {
  return svg("svg", { viewBox: `0 0 ${kWidth} ${kHeight}`, class: "scene", "aria-hidden": "true" });
}

/** A mass on a spring that hangs on a wall; the goal is the dashed line. */
class MassScene implements Scene {
  readonly element = drawing();
  private readonly spring = svg("polyline", { class: "line" });
  private readonly mass = svg("rect", { y: 105, width: 46, height: 46, rx: 5, class: "body" });

  constructor(private readonly reach: number) {
    this.element.append(
      svg("line", { x1: 20, x2: 20, y1: 60, y2: 152, class: "ground" }),
      svg("line", { x1: 20, x2: 305, y1: 152, y2: 152, class: "ground" }),
      svg("line", { x1: 180, x2: 180, y1: 70, y2: 152, class: "goal" }),
      this.spring,
      this.mass,
    );
  }
  draw([x]: number[]): void {
    const centre = 180 + (95 * x) / this.reach;
    const end = centre - 23;
    const turns = Array.from({ length: 17 }, (_, i) => {
      const side = i === 0 || i === 16 ? 0 : i % 2 ? 9 : -9;
      return `${(20 + ((end - 20) * i) / 16).toFixed(2)},${128 + side}`;
    });
    this.spring.setAttribute("points", turns.join(" "));
    this.mass.setAttribute("x", end.toFixed(2));
  }
}

class CartPoleScene implements Scene {
  readonly element = drawing();
  private readonly cart = svg("g");
  private readonly pole = svg("line", { x1: 0, y1: 0, x2: 0, y2: -95, class: "pole" });

  constructor(private readonly reach: number) {
    this.cart.append(svg("rect", { x: -28, y: -14, width: 56, height: 28, rx: 5, class: "body" }), this.pole);
    this.element.append(
      svg("line", { x1: 10, x2: 310, y1: 160, y2: 160, class: "ground" }),
      svg("line", { x1: 160, x2: 160, y1: 40, y2: 160, class: "goal" }),
      this.cart,
    );
  }
  draw([x, angle]: number[]): void {
    this.cart.setAttribute("transform", `translate(${(160 + (110 * x) / this.reach).toFixed(2)} 146)`);
    this.pole.setAttribute("transform", `rotate(${((180 / Math.PI) * angle).toFixed(2)})`);
  }
}

/** A part of a figure in the plane of x (forward) and z (up): where it is on the part that carries it (-1: the world), what its
 *  joints do to it, and its lines with their radius. In metres and radians; a turn is about the axis into the page. */
interface FigurePart {
  carrier: number;
  at: [number, number];
  turn: number;
  joints: ({ signal: number; zero: number } & ({ along: [number, number] } | { turns: number; around: [number, number] }))[];
  lines: [number, number, number, number, number][];
}
interface Frame {
  x: number;
  z: number;
  angle: number;
}
const moved = (frame: Frame, [x, z]: [number, number]): [number, number] => [
  frame.x + x * Math.cos(frame.angle) + z * Math.sin(frame.angle),
  frame.z - x * Math.sin(frame.angle) + z * Math.cos(frame.angle),
];

/** Where each part is: a joint after the other, each in the frame that those before it left. */
function partFrames(parts: FigurePart[], signals: number[]): Frame[] {
  const frames: Frame[] = [];
  for (const part of parts) {
    const carrier = frames[part.carrier] ?? { x: 0, z: 0, angle: 0 };
    const [x, z] = moved(carrier, part.at);
    const frame = { x, z, angle: carrier.angle + part.turn };
    for (const joint of part.joints) {
      const way = signals[joint.signal] - joint.zero;
      if ("along" in joint) {
        [frame.x, frame.z] = moved(frame, [joint.along[0] * way, joint.along[1] * way]);
      } else {
        const anchor = moved(frame, joint.around);
        frame.angle += joint.turns * way;
        const [left, up] = moved({ x: 0, z: 0, angle: frame.angle }, joint.around);
        [frame.x, frame.z] = [anchor[0] - left, anchor[1] - up];
      }
    }
    frames.push(frame);
  }
  return frames;
}

/** A body of rods that runs to the right, followed by the view; the ground has a mark at every half metre. */
class FigureScene implements Scene {
  readonly element = drawing();
  private readonly marks = svg("g");
  private readonly lines: SVGElement[][];
  private readonly scale = 80; // of a metre

  constructor(private readonly parts: FigurePart[]) {
    this.lines = parts.map((part) =>
      part.lines.map((line) => svg("line", { class: "limb", "stroke-width": (2 * line[4] * this.scale).toFixed(1) })),
    );
    this.element.append(svg("line", { x1: 0, x2: kWidth, y1: 170, y2: 170, class: "ground" }), this.marks, ...this.lines.flat());
  }
  draw(signals: number[]): void {
    const frames = partFrames(this.parts, signals);
    const middle = frames[0]?.x ?? 0;
    const place = ([x, z]: [number, number]): [string, string] => [
      (kWidth / 2 + this.scale * (x - middle)).toFixed(2),
      (170 - this.scale * z).toFixed(2),
    ];
    this.parts.forEach((part, i) =>
      part.lines.forEach(([x1, z1, x2, z2], j) => {
        const [from, to] = [place(moved(frames[i], [x1, z1])), place(moved(frames[i], [x2, z2]))];
        Object.entries({ x1: from[0], y1: from[1], x2: to[0], y2: to[1] }).forEach(([name, value]) =>
          this.lines[i][j].setAttribute(name, value),
        );
      }),
    );
    const first = Math.ceil(2 * (middle - kWidth / 2 / this.scale)) / 2;
    this.marks.replaceChildren(
      ...Array.from({ length: Math.floor((2 * kWidth) / this.scale) + 1 }, (_, i) => {
        const [x] = place([first + i / 2, 0]);
        return svg("line", { x1: x, x2: x, y1: 170, y2: (first + i / 2) % 5 === 0 ? 186 : 177, class: "ground" });
      }),
    );
  }
}

const unitOf = (signal: Signal): string => (signal.unit === "1" ? "" : signal.unit);

/** Any system: each of its signals over time, the goal dashed, and a line at the present. */
class SignalScene implements Scene {
  readonly element = drawing();
  private readonly lines: SVGElement[];
  private readonly now = svg("line", { y1: 0, y2: kHeight, class: "now" });
  private shown: number[][] | null = null;

  constructor(signals: Signal[], private readonly reaches: number[], private readonly frames: number) {
    const band = kHeight / signals.length;
    this.lines = signals.map(() => svg("polyline", { class: "signal" }));
    signals.forEach((signal, i) => {
      const label = svg("text", { x: 8, y: (band * i + 12).toFixed(2), class: "label" });
      label.textContent = unitOf(signal) ? `${signal.name} (${unitOf(signal)})` : signal.name;
      const middle = (band * (i + 0.5)).toFixed(2);
      this.element.append(svg("line", { x1: 0, x2: kWidth, y1: middle, y2: middle, class: "goal" }), this.lines[i], label);
    });
    this.element.append(this.now);
  }
  draw(_frame: number[], index: number, flight: number[][]): void {
    if (flight !== this.shown) {
      this.shown = flight;
      const band = kHeight / this.lines.length;
      this.lines.forEach((line, i) => {
        const y = (value: number): number => band * (i + 0.5) - (0.45 * band * value) / this.reaches[i];
        line.setAttribute("points", flight.map((frame, k) => `${this.x(k)},${y(frame[i]).toFixed(2)}`).join(" "));
      });
    }
    this.now.setAttribute("x1", this.x(index));
    this.now.setAttribute("x2", this.x(index));
  }
  private x(index: number): string {
    return ((kWidth * index) / Math.max(1, this.frames - 1)).toFixed(2);
  }
}

/** The drawings by the name that a system gives. `reach` is how far its first signal goes. */
const kDrawings: Record<string, (reach: number) => Scene> = {
  "mass-spring": (reach) => new MassScene(reach),
  "cart-pole": (reach) => new CartPoleScene(reach),
  "quadrotor": () => new QuadrotorScene(2 * kWidth, 2 * kHeight),
};

const kFigure = "stick figure ";

/** The drawing of this name; the signals over time if there is none. */
function sceneFor(name: string, run: Run, reaches: number[], frames: number): Scene {
  if (name.startsWith(kFigure)) return new FigureScene(JSON.parse(name.slice(kFigure.length)));
  if (Object.hasOwn(kDrawings, name)) return kDrawings[name](reaches[0]);
  return new SignalScene(run.signals, reaches, frames);
}

class Panel {
  readonly place = h("div", { class: "stage" });
  readonly readout = h("output", { class: "readout" });
  readonly element: HTMLElement;
  flights: number[][][] = [];
  private scene: Scene | null = null;

  constructor(readonly title: string) {
    this.element = h("div", { class: "panel" }, h("h3", {}, title), this.place, this.readout);
  }
  setScene(scene: Scene): void {
    this.scene = scene;
    this.place.replaceChildren(scene.element);
  }
  draw(start: number, frame: number, signals: Signal[]): void {
    const frames = this.flights[start] ?? [];
    if (frames.length === 0) return;
    const ended = frame >= frames.length;
    const index = Math.min(frame, frames.length - 1);
    this.scene?.draw(frames[index], index, frames);
    this.place.classList.toggle("failed", ended);
    const text = (value: number, i: number): string => `${signals[i].name} ${value.toFixed(3)} ${unitOf(signals[i])}`.trimEnd();
    this.readout.textContent = ended ? "failed" : frames[index].map(text).join("  ");
  }
}

export class AnimationView {
  private readonly start = new Choice("start", () => this.draw());
  private readonly button = h("button", { type: "button", click: () => this.setPlaying(!this.playing) }, "Play");
  private readonly slider = h("input", { type: "range", min: 0, max: 1, value: 0, step: 1, "aria-label": "time", input: () => this.seek() });
  private readonly clock = h("output", { class: "clock" });
  private readonly panels = [new Panel("first policy"), new Panel("last policy")];
  private readonly figure = h(
    "figure",
    { class: "card wide", "data-chart": "animation", "aria-label": "How it moves" },
    h("h2", {}, "How it moves"),
    h("div", { class: "controls" }, this.start.element, this.button, this.slider, this.clock),
    h("div", { class: "panels" }, ...this.panels.map((panel) => panel.element)),
    h("figcaption", {}, "The chosen task from the same start state, without exploration noise, relative to its goal."),
  );
  readonly elements = [this.figure];
  private run: Run | null = null;
  private key = "";
  private frame = 0;
  private playing = false;
  private visible = false;
  private last = 0;

  constructor() {
    this.start.setOptions(["1", "2", "3"]);
    new IntersectionObserver((entries) => {
      this.visible = entries.at(-1)!.isIntersecting;
      if (this.visible) requestAnimationFrame((time) => this.step(time));
    }).observe(this.figure);
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.setPlaying(true);
  }

  update(run: Run, taskIndex: number): void {
    const task: Task = run.tasks[taskIndex];
    // There are none of a machine that cannot be simulated.
    this.figure.hidden = !task.first_flights?.length || !task.last_flights?.length;
    if (!task.first_flights?.length || !task.last_flights?.length) return;
    this.run = run;
    [this.panels[0].flights, this.panels[1].flights] = [task.first_flights, task.last_flights];
    const all = [...task.first_flights, ...task.last_flights];
    const reaches = run.signals.map((_, i) => Math.max(1e-6, ...all.flat().map((frame) => Math.abs(frame[i]))));
    const frames = Math.max(1, ...all.map((flight) => flight.length));
    const drawing = task.drawing ?? run.drawing;
    const key = [run.system, drawing, ...reaches, frames].join(" ");
    if (key !== this.key) {
      this.key = key;
      for (const panel of this.panels) panel.setScene(sceneFor(drawing, run, reaches, frames));
    }
    this.slider.max = String(frames - 1);
    this.draw();
  }

  private setPlaying(playing: boolean): void {
    this.playing = playing;
    this.button.textContent = playing ? "Pause" : "Play";
    if (playing) requestAnimationFrame((time) => this.step(time));
  }
  private seek(): void {
    this.setPlaying(false);
    this.frame = Number(this.slider.value);
    this.draw();
  }
  private step(time: number): void {
    if (!this.playing || !this.visible || !this.run) return;
    const count = Number(this.slider.max) + 1;
    if (time - this.last >= 1000 * this.run.frame_seconds) {
      const passed = Math.min(5, Math.floor((time - this.last) / (1000 * this.run.frame_seconds)));
      this.last = time;
      // The end is shown for half a second before it starts again.
      this.frame = this.frame + passed > count + 25 ? 0 : this.frame + passed;
      this.draw();
    }
    requestAnimationFrame((next) => this.step(next));
  }
  private draw(): void {
    if (!this.run) return;
    const frame = Math.min(this.frame, Number(this.slider.max));
    this.slider.value = String(frame);
    this.clock.textContent = `${(frame * this.run.frame_seconds).toFixed(2)} s`;
    for (const panel of this.panels) panel.draw(this.start.index, frame, this.run.signals);
  }
}
