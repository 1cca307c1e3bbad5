class Old:
    def a(self):
        print "text"
        exec "x = 1" in {}
        raise ValueError, `self`

    def b(self, (x, y)):
        return 0377


def after():
    pass
