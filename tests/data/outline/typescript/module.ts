// 価格の計算 — ☕
export function totalPrice(a: number): number {
  return a;
}
export class カート {
  add(x: string): void {}
}

/** Shape. */
export interface Shape<T> {
  area: number;
  scale(by: number): T;
}

export type Pair<T> = [T, T];
export const enum Colour { Red, Green }
declare module "plugin" {
  export function load(name: string): void;
}
declare namespace Outer.Inner {
  let value: string;
}
@Component({ selector: "x" })
export abstract class View {
  @Input() name?: string;
  abstract draw(): void;
}
