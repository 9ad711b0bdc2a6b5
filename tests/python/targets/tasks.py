"""Two asyncio tasks: one computes below awaits, the other waits."""
import asyncio


def burn():
    x = 0
    while True:
        x += 1


async def inner():
    await asyncio.sleep(0)
    burn()


async def outer():
    await inner()


async def waits():
    await asyncio.sleep(1000)


async def main():
    other = asyncio.ensure_future(waits())
    await asyncio.sleep(0.01)
    print("ready", flush=True)
    await asyncio.ensure_future(outer())
    await other


asyncio.run(main())
