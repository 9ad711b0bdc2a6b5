"""A realm of one's own (MIT's KDC, on loopback, no setting of the system touched), and HDFS and YARN that ask everybody for tickets.

    with kerberos.Realm("alice") as realm, kerberos.Cluster(realm) as hadoop:
        realm.keytab, realm.env("alice")           # keys of everybody; an environment in which alice is logged in
        hadoop.shell("-mkdir", "/profiles")        # as HDFS's superuser
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

from . import parts, yarn
from .traces import wait_until

PACKAGES = """krb5-kdc krb5-admin-server krb5-user libverto1 libverto-libev1 libev4 libkadm5srv-mit12 libkadm5clnt-mit12 libkdb5-10
    libgssrpc4""".split()
LIB = "usr/lib/x86_64-linux-gnu"
REALM = "SPARKPROF.TEST"
SERVICES = ("nn", "dn", "rm", "nm", "HTTP")
CLIENT = """[libdefaults]
default_realm = {realm}
dns_canonicalize_hostname = false
rdns = false
dns_lookup_kdc = false
udp_preference_limit = 1
[realms]
{realm} = {{
    kdc = 127.0.0.1:{port}
}}
"""
SERVER = """[kdcdefaults]
kdc_listen = 127.0.0.1:{port}
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{realm} = {{
    database_name = {dir}/principal
    key_stash_file = {dir}/stash
}}
[dbmodules]
db_module_dir = {root}/{lib}/krb5/plugins/kdb
[logging]
kdc = FILE:{dir}/kdc.log
"""


def programs():
    """Debian's packages, unpacked and not installed: an installed KDC would be a service of this machine."""
    return parts.debian("mit-krb5", PACKAGES)


class Realm:
    """A KDC with users @names, and with the services of a cluster on localhost."""

    def __init__(self, *names):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="skrb"))
        self.conf, self.keytab, self.root = self.dir / "krb5.conf", self.dir / "keytab", programs()
        [port] = yarn.free_ports(1)
        words = {"realm": REALM, "port": port, "dir": self.dir, "root": self.root, "lib": LIB}
        self.conf.write_text(CLIENT.format(**words))
        (self.dir / "kdc.conf").write_text(SERVER.format(**words))
        self.kdc = None
        try:
            self._call("sbin/kdb5_util", "create", "-s", "-P", "a master key", "-r", REALM)
            everybody = [*names, *(f"{s}/localhost" for s in SERVICES)]
            for words in [*(f"addprinc -randkey {p}" for p in everybody), f"ktadd -k {self.keytab} {' '.join(everybody)}"]:
                self._call("sbin/kadmin.local", "-q", words)
            self.kdc = subprocess.Popen([self.root / "usr/sbin/krb5kdc", "-n"], env=self._env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
            wait_until(lambda: (self.dir / "kdc.log").exists() and "commencing operation" in (self.dir / "kdc.log").read_text(), 60)
        except BaseException:
            self.close()
            raise

    def _env(self):
        return {**os.environ, "KRB5_CONFIG": str(self.conf), "KRB5_KDC_PROFILE": str(self.dir / "kdc.conf"), "LD_LIBRARY_PATH": str(self.root / LIB)}

    def _call(self, program, *args):
        r = subprocess.run([self.root / "usr" / program, *map(str, args)], env=self._env(), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert r.returncode == 0, r.stderr

    @staticmethod
    def principal(name):
        return f"{name}@{REALM}"

    @property
    def java(self):
        """JVM options with this realm. Its variable also reaches the JVMs that a JVM starts."""
        return {"JAVA_TOOL_OPTIONS": f"-Djava.security.krb5.conf={self.conf}"}

    def env(self, name):
        """For a process whose user has tickets of @name, by kinit."""
        cache = self.dir / f"tickets-{name.partition('/')[0]}"
        if not cache.exists():
            self._call("bin/kinit", "-c", cache, "-k", "-t", self.keytab, name)
        return {**self.java, "KRB5CCNAME": str(cache)}

    def close(self):
        if self.kdc:
            self.kdc.kill()
            self.kdc.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class Cluster(yarn.Cluster):
    """Hadoop's secure mode as far as a plain user can run it: SASL and TLS instead of privileged ports, and the plain container executor.
    @core, @hdfs: more properties."""

    def __init__(self, realm, daemons=tuple(yarn.DAEMONS), core=None, hdfs=None):
        self.realm = realm
        https = [f"127.0.0.1:{p}" for p in yarn.free_ports(2)]
        self.more = {
            "core-site": {"hadoop.security.authentication": "kerberos", "hadoop.security.authorization": "true",
                          "hadoop.proxyuser.alice.hosts": "*", "hadoop.proxyuser.alice.users": "*",
                          "ipc.client.connection.maxidletime": 1000,  # a new connection asks for a token
                          **(core or {})},
            "hdfs-site": {"dfs.permissions.enabled": "true", "dfs.block.access.token.enable": "true", "dfs.data.transfer.protection": "authentication",
                          "dfs.http.policy": "HTTPS_ONLY", "dfs.namenode.https-address": https[0], "dfs.datanode.https.address": https[1],
                          **self._service("dfs.namenode", "nn", "kerberos.principal", "keytab.file"),
                          **self._service("dfs.datanode", "dn", "kerberos.principal", "keytab.file"),
                          "dfs.web.authentication.kerberos.principal": realm.principal("HTTP/localhost"),
                          "dfs.web.authentication.kerberos.keytab": realm.keytab, **(hdfs or {})},
            "yarn-site": {**self._service("yarn.resourcemanager", "rm", "principal", "keytab"), **self._service("yarn.nodemanager", "nm", "principal", "keytab"),
                          "yarn.nodemanager.env-whitelist": "JAVA_HOME,PATH,LANG,TZ,JAVA_TOOL_OPTIONS"}}
        super().__init__(daemons, env=realm.java)

    def _service(self, prefix, name, principal, keytab):
        return {f"{prefix}.{principal}": self.realm.principal(f"{name}/localhost"), f"{prefix}.{keytab}": self.realm.keytab}

    def _configure(self):
        super()._configure()
        store = self.dir / "keystore"
        subprocess.run([parts.jdk(17) / "bin/keytool", "-genkeypair", "-keystore", store, "-storepass", "changeit", "-alias", "x", "-keyalg", "RSA",
                        "-dname", "CN=localhost"], check=True, capture_output=True)
        self._site("ssl-server", {"ssl.server.keystore.location": store, "ssl.server.keystore.password": "changeit", "ssl.server.keystore.keypassword": "changeit"})

    def _site(self, name, properties):
        super()._site(name, {**properties, **self.more.get(name, {})})

    def shell(self, *args, **kw):
        return super().shell(*args, **{"env": self.realm.env("nn/localhost"), **kw})

    def ls(self, path):
        try:
            lines = self.shell("-ls", path).splitlines()
        except RuntimeError as e:
            if "No such file" not in str(e):
                raise
            return {}
        rows = [x.split(None, 7) for x in lines if x[:1] in "d-"]
        return {os.path.basename(x[7]): int(x[4]) for x in rows}

    def status(self, path):
        mode, owner, group = self.shell("-stat", "%a %u %g", path).split()[-3:]
        return {"permission": mode, "owner": owner, "group": group}

    def fetch(self, path, to):
        self.shell("-get", path, to)
