// The drawing of a network on a canvas: nodes, links, queues, frames that move, stops and drops.

import type { Network } from "./engine.ts";
import type { Layout, Line } from "./layout.ts";
import type { Picture } from "./protocol.ts";

/** Frames on a line above which their density is drawn. */
const MOST_DOTS = 200;
/** Kinds of frames that stop or inform a neighbour: the indices from PAUSE on. */
const FIRST_CONTROL = 4;
const ACKS = [1, 2, 3];
const QUEUE_LENGTH = 46;
const LANE = 6;
const FONT = "600 12px system-ui, sans-serif";

/** Colours of the page's theme. */
interface Theme {
  text: string;
  muted: string;
  line: string;
  surface: string;
  stop: string;
}

export type ColourOf = (key: number) => string;

interface Point {
  x: number;
  y: number;
}

/** Half the height of a symbol. */
const SIZE = { host: 14, switch: 17 };
/** Pixels between the rows of symbols of full size, and the height around them. */
const ROW = 44;
const MARGIN = 84;

/** Height of the canvas, pixels; on a narrow page the columns are rows. */
export function heightFor({ rows, columns }: Layout, width: number): number {
  if (width < 400 && columns > 3) return Math.min(Math.max(430, MARGIN + columns * 70), 640);
  return Math.min(Math.max(160, MARGIN + rows * ROW), 640);
}

export class Drawing {
  readonly #canvas: HTMLCanvasElement;
  readonly #network: Network;
  readonly #layout: Layout;
  readonly #ports: string[];
  #theme: Theme;
  #largest: number[] = [];
  #flash = new Map<number, number>();
  #size = { width: 0, height: 0 };
  /** Half the width and height of each symbol. */
  #boxes: Point[] = [];
  /** Port whose data is plotted. */
  selected = 0;

  constructor(canvas: HTMLCanvasElement, network: Network, layout: Layout, ports: string[]) {
    this.#canvas = canvas;
    this.#network = network;
    this.#layout = layout;
    this.#ports = ports;
    this.#theme = theme(canvas);
    this.resize();
  }

  /** Reads the size and the colours of the page again. */
  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const ratio = Math.min(window.devicePixelRatio, 2);
    this.#canvas.width = width * ratio;
    this.#canvas.height = height * ratio;
    this.#canvas.getContext("2d")!.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#size = { width, height };
    this.#theme = theme(this.#canvas);
    const { symbols, rows } = this.#layout;
    const scale = this.#upright ? 1 : Math.min(1, Math.max(0.55, (height - MARGIN) / Math.max(rows - 1, 1) / ROW));
    const context = this.#canvas.getContext("2d")!;
    context.font = FONT;
    this.#boxes = symbols.map(({ kind, label }) => {
      const half = SIZE[kind as keyof typeof SIZE] * scale;
      return { x: Math.max(half, context.measureText(label).width / 2 + 6), y: half };
    });
  }

  /** `true`: the columns of the layout are rows. */
  get #upright(): boolean {
    const { width, height } = this.#size;
    return height > 1.05 * width && this.#layout.columns > 3;
  }

  /** Centre of a symbol; on a narrow and high canvas the columns are rows. */
  #centre(index: number): Point {
    const { width, height } = this.#size;
    const { x, y } = this.#layout.symbols[index]!;
    const side = Math.max(30, ...this.#boxes.map((box) => box.x)) + 10;
    const [across, down] = this.#upright ? [y, x] : [x, y];
    return { x: side + across * (width - 2 * side), y: MARGIN / 2 + down * (height - MARGIN) };
  }

  /** Start and end of the lane in which `side` of a line sends. */
  #lane(line: Line, side: 0 | 1): [Point, Point] {
    const [first, last] = side === 0 ? [line.from, line.to] : [line.to, line.from];
    const [a, b] = [this.#centre(first), this.#centre(last)];
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    // Where the line leaves the boxes.
    const edge = (i: number) => 4 + Math.min(this.#boxes[i]!.x / Math.abs(ux), this.#boxes[i]!.y / Math.abs(uy));
    const [start, end] = [edge(first), edge(last)];
    const shift = { x: -uy * LANE, y: ux * LANE };
    const at = (along: number) => ({ x: a.x + ux * along + shift.x, y: a.y + uy * along + shift.y });
    return [at(start), at(length - end)];
  }

  /** Returns the port that is nearest to a point of the canvas; `null`: none is near. */
  portAt(point: Point): number | null {
    let best: [number, number] = [18, -1];
    for (const line of this.#layout.lines) {
      for (const side of [0, 1] as const) {
        const [a, b] = this.#lane(line, side);
        const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
        const along = ((point.x - a.x) * (b.x - a.x) + (point.y - a.y) * (b.y - a.y)) / length;
        const t = Math.min(Math.max(along, 0), length * 0.5) / length;
        const away = Math.hypot(a.x + t * (b.x - a.x) - point.x, a.y + t * (b.y - a.y) - point.y);
        if (away < best[0] && line.ports[side].length > 0) best = [away, line.ports[side][0]!];
      }
    }
    return best[1] < 0 ? null : best[1];
  }

  draw(picture: Picture, colour: ColourOf, byClass: boolean): void {
    const context = this.#canvas.getContext("2d")!;
    context.clearRect(0, 0, this.#size.width, this.#size.height);
    const time = performance.now();
    for (const port of picture.drops) this.#flash.set(port, time);
    picture.ports.forEach((port, i) => (this.#largest[i] = Math.max(this.#largest[i] ?? 0, port.queue)));
    const frames = new Map<number, number[]>();
    picture.moving.port.forEach((port, i) => {
      const all = frames.get(port);
      if (all === undefined) frames.set(port, [i]);
      else all.push(i);
    });
    for (const line of this.#layout.lines) {
      this.#cable(context, line, picture);
      for (const side of [0, 1] as const) this.#port(context, line, side, picture, frames, colour, byClass, time);
    }
    this.#layout.symbols.forEach((_, i) => this.#symbol(context, i));
  }

  #cable(context: CanvasRenderingContext2D, line: Line, picture: Picture): void {
    const [a, b] = [this.#centre(line.from), this.#centre(line.to)];
    context.strokeStyle = this.#theme.line;
    context.lineWidth = line.ports[0].length > 1 ? 4 : 2;
    context.setLineDash(line.ports[0].some((port) => !picture.ports[port]!.up) ? [4, 5] : []);
    context.beginPath();
    context.moveTo(a.x, a.y);
    context.lineTo(b.x, b.y);
    context.stroke();
    context.setLineDash([]);
  }

  /** Limit of a port's queue, or the largest queue so far if it has none. */
  #limit(port: number): number {
    return this.#network.links[port >> 1]!.buffer_bytes[port & 1] ?? Math.max(this.#largest[port] ?? 0, 15000);
  }

  #port(
    context: CanvasRenderingContext2D,
    line: Line,
    side: 0 | 1,
    picture: Picture,
    frames: Map<number, number[]>,
    colour: ColourOf,
    byClass: boolean,
    time: number,
  ): void {
    const ports = line.ports[side];
    if (ports.length === 0) return;
    const [a, b] = this.#lane(line, side);
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    if (length < 12) return;
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    const used = ports.some((port) => (this.#largest[port] ?? 0) > 0);
    const bar = used ? Math.min(QUEUE_LENGTH, length * 0.38) : 0;

    context.save();
    context.translate(a.x, a.y);
    context.rotate(Math.atan2(uy, ux));
    if (used) {
      const limit = ports.reduce((sum, port) => sum + this.#limit(port), 0);
      context.fillStyle = this.#theme.surface;
      context.fillRect(0, -4.5, bar, 9);
      // The head of the queue is at the link.
      let end = bar;
      const parts = new Map<number, number>();
      for (const port of ports) {
        for (const [key, bytes] of picture.ports[port]!.parts) parts.set(key, (parts.get(key) ?? 0) + bytes);
      }
      for (const [key, bytes] of [...parts].sort((x, y) => x[0] - y[0])) {
        const part = Math.min(end, (bytes / limit) * bar);
        context.fillStyle = colour(key);
        context.fillRect(end - part, -4.5, part, 9);
        end -= part;
      }
      context.strokeStyle = ports.includes(this.selected) ? this.#theme.text : this.#theme.muted;
      context.lineWidth = ports.includes(this.selected) ? 2 : 1;
      context.strokeRect(0, -4.5, bar, 9);
    }
    this.#frames(context, ports, bar, length, picture, frames, colour, byClass);
    if (ports.some((port) => picture.ports[port]!.stopped)) {
      context.fillStyle = this.#theme.stop;
      context.fillRect(bar + 1, -7, 4, 14);
    }
    const dropped = Math.max(...ports.map((port) => this.#flash.get(port) ?? -Infinity));
    if (time - dropped < 500) {
      context.globalAlpha = 1 - (time - dropped) / 500;
      context.strokeStyle = this.#theme.stop;
      context.lineWidth = 3;
      context.beginPath();
      context.moveTo(-7, -12);
      context.lineTo(3, -2);
      context.moveTo(3, -12);
      context.lineTo(-7, -2);
      context.stroke();
    }
    context.restore();
  }

  /** Frames on the link: dots, squares for control frames; above `MOST_DOTS` a bar whose strength is their number. */
  #frames(
    context: CanvasRenderingContext2D,
    ports: number[],
    from: number,
    to: number,
    picture: Picture,
    frames: Map<number, number[]>,
    colour: ColourOf,
    byClass: boolean,
  ): void {
    const { moving } = picture;
    const total = ports.reduce((sum, port) => sum + picture.crowded[port]!, 0);
    const listed = ports.flatMap((port) => frames.get(port) ?? []);
    if (total > MOST_DOTS || listed.length < total) {
      context.globalAlpha = Math.min(0.9, 0.25 + total / (4 * MOST_DOTS));
      context.fillStyle = this.#theme.text;
      context.fillRect(from + 6, -3, to - from - 6, 6);
      context.globalAlpha = 1;
      context.font = "10px system-ui, sans-serif";
      context.textAlign = "center";
      context.fillText(`${total} frames`, (from + to) / 2, -6);
      return;
    }
    for (const i of listed) {
      const x = from + 5 + Math.min(Math.max(moving.place[i]!, 0), 1) * (to - from - 5);
      const kind = moving.frame[i]!;
      if (kind >= FIRST_CONTROL) {
        context.fillStyle = this.#theme.stop;
        context.fillRect(x - 5, -5, 10, 10);
        context.fillStyle = "#fff";
        context.fillRect(x - 2.5, -3, 1.8, 6);
        context.fillRect(x + 0.8, -3, 1.8, 6);
        continue;
      }
      context.beginPath();
      context.arc(x, 0, ACKS.includes(kind) ? 2.4 : 4, 0, 2 * Math.PI);
      context.fillStyle = colour(byClass ? moving.class[i]! : moving.flow[i]!);
      context.fill();
    }
  }

  #symbol(context: CanvasRenderingContext2D, index: number): void {
    const { kind, label, names } = this.#layout.symbols[index]!;
    const { x, y } = this.#centre(index);
    const half = this.#boxes[index]!;
    const corner = kind === "host" ? half.y : 4;
    context.fillStyle = this.#theme.surface;
    context.strokeStyle = this.#theme.text;
    context.lineWidth = names.length > 1 ? 3 : 1.5;
    context.beginPath();
    context.roundRect(x - half.x, y - half.y, 2 * half.x, 2 * half.y, corner);
    context.fill();
    context.stroke();
    context.fillStyle = this.#theme.text;
    context.textAlign = "center";
    context.font = FONT;
    context.fillText(label, x, y + 4);
  }

  /** Text about the picture, for readers who do not see it. */
  described(picture: Picture): string {
    const fullest = picture.ports.reduce((best, port, i) => (port.queue > picture.ports[best]!.queue ? i : best), 0);
    const stopped = picture.ports.flatMap((port, i) => (port.stopped ? [this.#ports[i]!] : []));
    const queue = picture.ports[fullest]!.queue;
    const first = queue > 0 ? `longest queue ${(queue / 1000).toFixed(1)} kB at ${this.#ports[fullest]}` : "all queues empty";
    const drops = Object.values(picture.causes).reduce((sum, count) => sum + count, 0);
    const some = stopped.length > 4 ? `${stopped.slice(0, 4).join(", ")} and ${stopped.length - 4} more` : stopped.join(", ");
    // Of several groups, those that have lost most.
    const lost = Object.entries(picture.lost).sort((a, b) => b[1] - a[1]);
    const groups = new Set(this.#network.flows.map(([, , group]) => group)).size;
    const whose = groups > 1 && lost.length > 0 ? ` (${lost.slice(0, 3).map(([group, count]) => `${group} ${count}`).join(", ")})` : "";
    return `${first}; ${drops} dropped${whose}, ${picture.marks} marked; stopped ports: ${some || "none"}`;
  }
}

function theme(element: HTMLElement): Theme {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: read("--text"),
    muted: read("--muted"),
    line: read("--line"),
    surface: read("--surface"),
    stop: read("--stop"),
  };
}
