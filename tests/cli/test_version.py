def test_version_is_one_line(sparkprof):
    r = sparkprof("version")
    assert r.returncode == 0 and r.stdout.startswith("sparkprof ") and r.stdout.count("\n") == 1
