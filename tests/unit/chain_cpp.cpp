#include "chain.h"

#include <functional>
#include <string>

namespace
{
volatile int counter;

struct Base {
	virtual ~Base() = default;
	virtual void go(int n) = 0;
};

struct Derived : Base {
	std::string name = "derived";
	__attribute__((noinline)) void go(int n) override
	{
		std::function<void(int)> f = [this](int k) {
			chain_middle(k + static_cast<int>(name.size()));
			counter = counter + 1;
		};
		f(n);
		counter = counter + 1;
	}
};
} // namespace

extern "C" __attribute__((noinline)) void chain_cpp(int depth)
{
	Derived d;
	Base *volatile b = &d;

	try {
		b->go(depth);
	} catch (...) {
		counter = counter + 1;
	}
	counter = counter + 1;
}
