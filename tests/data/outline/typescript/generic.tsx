declare module JSX {
	interface Element { isElement; }
}
var e1 = <T>() => {}</T>;
e1.isElement;

var f2 = <T extends {}>() => {};
f2();
