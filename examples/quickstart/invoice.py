class Invoice:
    """What a customer owes."""

    def __init__(self, lines):
        self.lines = lines

    def total(self, rate=0):
        return sum(self.lines) * (1 - rate)
