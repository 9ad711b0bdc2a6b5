#!/usr/bin/env python3
"""Stands in for kubectl where there is no Kubernetes: `get pods` prints what the test wrote, and `exec -i` enters the
podman container of that name. What the real one says and does is tested by ./build.sh test-k8s (tests/k8s)."""
import json
import os
import pathlib
import sys

HERE = pathlib.Path(os.environ["STANDIN_KUBECTL"])


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(1)


def main():
    world = json.loads((HERE / "world.json").read_text())
    options, words = {}, sys.argv[1:]
    command = words[words.index("--") + 1:] if "--" in words else []
    words = words[:words.index("--")] if "--" in words else words
    with open(HERE / "calls", "a") as calls:
        print(json.dumps(sys.argv[1:]), file=calls)
    for word in [w for w in words if w.startswith("--") and "=" in w]:
        options[word[2:].split("=")[0]] = word.split("=", 1)[1]
    words = [w for w in words if not (w.startswith("--") and "=" in w)]
    if options.get("context", "here") != "here":
        fail(f'error: context "{options["context"]}" does not exist')
    if options.get("namespace", "default") not in world["namespaces"]:
        if words[0] == "get":
            sys.exit(0)
        fail(f'Error from server (NotFound): pods "{words[2]}" not found')
    pods = world["namespaces"][options.get("namespace", "default")]
    if words[:2] == ["get", "pods"]:
        if world.get("forbidden"):
            fail('Error from server (Forbidden): pods is forbidden: User "eve" cannot list resource "pods" in API group "" in the namespace "spark"')
        sys.stdout.write("".join("\t".join(p["row"]) + "\n" for p in pods))
        return
    assert words[:2] == ["exec", "-i"] and len(words) == 3, words
    found = [p for p in pods if p["row"][0] == words[2]]
    if not found:
        fail(f'Error from server (NotFound): pods "{words[2]}" not found')
    if "says" in found[0]:
        fail(found[0]["says"])
    os.execvp(found[0]["podman"][0], [*found[0]["podman"], "exec", "-i", "target", *command])


main()
