"""A line, and how it gets better."""


class Line:
    def __init__(self):
        self.slope = self.offset = 0.0

    def improve(self, points, rate):
        """One step down the gradient; the mean square of the errors before it."""
        errors = [(self.slope * x + self.offset - y, x) for x, y in points]
        self.slope -= rate * 2 * sum(error * x for error, x in errors) / len(points)
        self.offset -= rate * sum(error for error, _ in errors) / len(points)
        return sum(error * error for error, _ in errors) / len(points)
