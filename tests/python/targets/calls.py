"""Every way in which one function comes to call another, warm enough to be specialised; then it sleeps at their end."""
import functools
import time


def end(asleep):
    while asleep:
        time.sleep(60)


class Base:
    def method(self, asleep):
        return by_static(asleep)


class Ways(Base):
    def __init__(self, asleep=None):
        self.asleep = asleep
        if asleep is not None:
            self.bound(asleep)

    def bound(self, asleep):
        self.asleep = asleep
        return self.attribute

    @property
    def attribute(self):
        return self[self.asleep]

    def __getitem__(self, asleep):
        return by_keyword(asleep=asleep)

    def method(self, asleep):
        return super().method(asleep)

    @staticmethod
    def static(asleep):
        return Ways.of_class(asleep)

    @classmethod
    def of_class(cls, asleep):
        return from_c(asleep)

    def __enter__(self):
        return by_default(1)

    def __exit__(self, *_):
        pass

    def __add__(self, asleep):
        return self(asleep)

    def __call__(self, asleep):
        with self:
            by_default(asleep)


def by_keyword(*, asleep):
    return by_star(*(asleep,), **{})


def by_star(*args):
    for x in generator(args[0]):
        pass


def generator(asleep):
    yield from inner_generator(asleep)


def inner_generator(asleep):
    yield Ways().method(asleep)


def by_static(asleep):
    return Ways.static(asleep)


def from_c(asleep):
    return sorted([asleep], key=functools.partial(curried, 1))


def curried(_, asleep):
    return next(x for x in [(lambda: Ways() + asleep)()])


def by_default(asleep, _=None):
    if asleep != 1:
        end(asleep)


for _ in range(3000):
    Ways(0)
print("ready", flush=True)
Ways(2)
