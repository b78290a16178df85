// Small helpers for the page's elements.

type Child = Node | string | null | undefined;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

/** An element with attributes (functions become listeners) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export function svg(tag: string, attributes: Record<string, string | number> = {}): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** A labelled select that keeps its choice when its options change, if it still can. */
export class Choice {
  readonly element: HTMLLabelElement;
  private readonly select: HTMLSelectElement;
  private options = "";

  constructor(label: string, onChange: () => void) {
    this.select = h("select", { change: onChange });
    this.element = h("label", { class: "choice" }, h("span", {}, label), this.select);
  }
  get index(): number {
    return Math.max(0, this.select.selectedIndex);
  }
  set index(value: number) {
    this.select.selectedIndex = value;
  }
  /** Whether they are others than before. */
  setOptions(names: string[]): boolean {
    const options = names.join("\n");
    if (options === this.options) return false;
    const kept = names.indexOf(this.select.value);
    this.options = options;
    this.select.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    this.select.selectedIndex = Math.max(0, kept);
    this.element.hidden = names.length === 0;
    return true;
  }
}

export class Check {
  readonly element: HTMLLabelElement;
  private readonly box: HTMLInputElement;
  constructor(label: string, onChange: () => void) {
    this.box = h("input", { type: "checkbox", change: onChange });
    this.element = h("label", { class: "check" }, this.box, label);
  }
  get on(): boolean {
    return this.box.checked;
  }
}

export type Cell = string | number | null | undefined;

export function table(head: string[], rows: Cell[][]): HTMLTableElement {
  const cell = (value: Cell): HTMLTableCellElement =>
    typeof value === "number"
      ? h("td", { class: "number" }, String(value))
      : h("td", {}, value ?? "–");
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell)))),
  );
}

/** Four digits, as people read them. */
export function short(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return "–";
  return String(Number(value.toPrecision(4)));
}
