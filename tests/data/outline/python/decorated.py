# Größe – naïve façade ☃☃☃
def first():
    return "é"


@registry.add(
    "second",
)
@cached
async def second(a, *rest: int, key="x", **more) -> int:
    """What it does."""

    @wraps(a)
    def inner(): return a

    return inner
    # a comment that belongs to nobody


class Übersicht(Base):
    """A class."""

    limit: int = 3
    __slots__ = ("a",)

    @property
    def teil(self): return 2

    @teil.setter
    def teil(self, value):
        self.x = value

    class Meta:
        ordering = ["name"]


LIMIT = 1
a, (b, *c) = LIMIT, (2, 3)
first_alias = second_alias = first
LIMIT = 2
obj.attribute = 5
table["key"] = 6

try:
    import fast
    HAVE_FAST = True
except ImportError:
    HAVE_FAST = False

    def fallback():
        pass

if __name__ == "__main__":
    definitely_not_a_function = 0
type Pair[T] = tuple[T, T]
