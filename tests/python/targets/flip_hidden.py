"""As flip.py, by calls that leave their caller no trace of what it called: properties, subscripts, generators."""


class Left:
    @property
    def left2(self):
        return self.left3

    @property
    def left3(self):
        return 1


class Right:
    @property
    def right2(self):
        return self[1]

    def right3(self, n):
        for x in right4(n):
            return x

    __getitem__ = right3


def right4(n):
    yield right5(n)


def right5(n):
    return n


def left1(left):
    return left.left2


def right1(right):
    return right.right2


def main():
    left, right = Left(), Right()
    while True:
        left1(left)
        right1(right)


print("ready", flush=True)
main()
