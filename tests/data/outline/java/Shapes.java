package shapes;

/** Flächen, Übersicht – ☃. */
@Deprecated
public final class Shapes<T extends Comparable<T>> {
    private static final int LIMIT = 1, OTHER = 2;

    /** Makes one. */
    public Shapes(int size) {
    }

    @Override
    public <R> R größe(java.util.Map<String, List<R>> map, int... more) throws Exception {
        Runnable local = new Runnable() {
            @Override public void run() { }
        };
        class Helper { void help() { } }
        return null;
    }

    record Range(int low, int high) {
        Range {
            if (low > high) throw new IllegalArgumentException();
        }
    }

    enum Mode { FAST { void go() { } }, SLOW; void go() { } }

    interface Visitor<T> {
        int DEPTH = 3;
        void visit(T node);
        default void done() { }
    }

    @interface Marker { int value() default 1; }
}
