def a():
    x = (1,

def b():
    return 2


class C:
    def m(self):
        return {"k": [1, 2}

    def n(
        self,
        other,
    ):
        return """
def not_a_function():
    pass
"""


value = 3
