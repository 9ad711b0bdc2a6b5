/* What looks secret is taken out of command lines, and nothing else. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/redact.h"

#define R SP_REDACTED

static const struct {
	const char *in, *want; /* NULL: as it is */
} lines[] = {
	/* names of Spark's own pattern, in every way of writing */
	{"-Dspark.password=hunter2 Main", "-Dspark.password=" R " Main"},
	{"--password hunter2 app.jar", "--password " R " app.jar"},
	{"--password=hunter2 app.jar", "--password=" R " app.jar"},
	{"-password hunter2", "-password " R},
	{"--conf spark.my.SECRET=a,b;c&d", "--conf spark.my.SECRET=" R},
	{"--conf spark.hadoop.fs.s3a.access.key=abc x",
		"--conf spark.hadoop.fs.s3a.access.key=" R " x"},
	{"--conf spark.hadoop.fs.s3a.secret.key=a/b+c=",
		"--conf spark.hadoop.fs.s3a.secret.key=" R},
	{"DB_PASSWORD=x y", "DB_PASSWORD=" R " y"},
	{"-Djavax.net.ssl.keyStorePassword=changeit", "-Djavax.net.ssl.keyStorePassword=" R},
	{"--token 0123456 --x 1", "--token " R " --x 1"},
	{"--token --x 1", "--token --x 1"},
	{"--password=\"two words\" x", "--password=" R " x"},
	{"--password  hunter2", "--password  " R},
	/* friends */
	{"--passwd x", "--passwd " R},
	{"--api-key=x", "--api-key=" R},
	{"-Dapp.privateKey=x", "-Dapp.privateKey=" R},
	{"-Daws.credentials=x", "-Daws.credentials=" R},
	{"--header Authorization: Bearer abc.def", "--header Authorization: Bearer " R},
	/* URLs */
	{"jdbc:postgresql://joe:pw@db:5432/x", "jdbc:postgresql://joe:" R "@db:5432/x"},
	{"s3a://AKID:a/b+c@bucket/x", "s3a://AKID:" R "@bucket/x"},
	{"jdbc:mysql://db:3306/x?user=a&password=p&x=1",
		"jdbc:mysql://db:3306/x?user=a&password=" R "&x=1"},
	{"jdbc:sqlserver://db:1433;user=a;password=p;x=1",
		"jdbc:sqlserver://db:1433;user=a;password=" R ";x=1"},
	/* clouds */
	{"AKIAIOSFODNN7EXAMPLE x", R " x"},
	{"-Dk=AIzaSyA1234567890abcdefghijklmnopqrstuv", "-Dk=" R},
	{"DefaultEndpointsProtocol=https;AccountName=n;AccountKey=ab+/==;EndpointSuffix=s",
		"DefaultEndpointsProtocol=https;AccountName=n;AccountKey=" R ";EndpointSuffix=s"},
	{"https://n.blob.core.windows.net/c?sv=2020&sig=a%2Fb&se=1",
		"https://n.blob.core.windows.net/c?sv=2020&sig=" R "&se=1"},
	{"SharedAccessSignature=sv=1&sig=x", "SharedAccessSignature=" R},
	{"-Dspark.hadoop.fs.azure.account.key.n.dfs.core.windows.net=k==",
		"-Dspark.hadoop.fs.azure.account.key.n.dfs.core.windows.net=" R},
	{"https://b.s3.amazonaws.com/k?X-Amz-Credential=c&X-Amz-Signature=s",
		"https://b.s3.amazonaws.com/k?X-Amz-Credential=" R "&X-Amz-Signature=" R},
	{"ghp_0123456789abcdefghijklmnopqrstuvwxyz", R},
	{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc_-", R},
	{"-Dk=GOCSPX-abcdefghijklmnopqrstuvwxyz12", "-Dk=" R},
	{"-Dk=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY x", "-Dk=" R " x"},
	{"-Dk=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/"
	 "K1SZFPTOtr/KBHBeksoGMGw==",
		"-Dk=" R},
	{"-Dk=abc8Q~0123456789abcdefghijklmnopqrstuv.x", "-Dk=" R},
	{"-Dk=-----BEGIN PRIVATE KEY----- a b -----END PRIVATE KEY----- Main", "-Dk=" R " Main"},
	{"-----BEGIN EC PRIVATE KEY----- a b", R},
	/* JSON, and what is written like it */
	{"{\"user\": \"joe\", \"password\": \"a b\"} x",
		"{\"user\": \"joe\", \"password\": " R " x"},
	{"{\"password\":\"a \\\" b\",\"x\":1}", "{\"password\":" R ",\"x\":1}"},
	{"{\\\"token\\\":\\\"a\\\"}", "{\\\"token\\\":" R "}"},
	{"{'token':a,'x':1}", "{'token':" R ",'x':1}"},
	{"spark.password: a", "spark.password: " R},
	{"password = a b", "password = " R " b"},
	{"--password = a b", "--password = " R " b"},
	{"--password:a", "--password:" R},
	{"password:a", "password:" R},
	/* other ways to part name and value, and to end a value */
	{"--conf=spark.my.password=a,b;c", "--conf=spark.my.password=" R},
	{"jdbc:mysql://address=(host=h)(password=a)(user=u)/d",
		"jdbc:mysql://address=(host=h)(password=" R ")(user=u)/d"},
	{"jdbc:sqlserver://h;password={a;b};x=1", "jdbc:sqlserver://h;password=" R ";x=1"},
	{"jdbc:oracle:thin:scott/tiger@//db:1521/x", "jdbc:oracle:thin:scott/" R "@//db:1521/x"},
	{"LoginModule required username=\"u\" password=\"a b\";",
		"LoginModule required username=\"u\" password=" R},
	{"bash -c \"submit --password a -x\" O'Brien --token b D'Arc",
		"bash -c \"submit --password " R " -x\" O'Brien --token " R " D'Arc"},
	{"https://u:p@ss#word@h/x", "https://u:" R "@h/x"},
	{"-Dheader=Bearer a.b x", "-Dheader=Bearer " R " x"},
	{"Authorization: Basic a x", "Authorization: Basic " R " x"},
	{"-Ddb.pwd=a --db-pass b MYSQL_PWD=c dbPass=d -storepass e",
		"-Ddb.pwd=" R " --db-pass " R " MYSQL_PWD=" R " dbPass=" R " -storepass " R},
	/* what has been redacted stays so */
	{"--password=" R " x", "--password=" R " x"},
	{"a://u:" R "@h", "a://u:" R "@h"},
	/* no secrets */
	{"--num-tokens 512 x", NULL},
	{"--max-tokens=512", NULL},
	{"-Dspark.kerberos.keytab=/etc/security/x.keytab", NULL},
	{"-Dspark.kerberos.principal=spark/host@REALM", NULL},
	{"-Dspark.kerberos.access.hadoopFileSystems=hdfs://a:8020/x", NULL},
	{"-Dhadoop.security.credential.provider.path=jceks://hdfs@nn:9000/x.jceks", NULL},
	{"-Dspark.security.credentials.hive.enabled=false", NULL},
	{"-Dx.password= y", NULL},
	{"abfss://container@account.dfs.core.windows.net/x", NULL},
	{"hdfs://nn:8020/user@x", NULL},
	{"spark://CoarseGrainedScheduler@host:35001", NULL},
	{"-XX:+UseG1GC -Xmx4g -cp /a/b:/c Main --executor-id 3 --hostname n7", NULL},
	{"-Dsun.reflect.x=AKIA", NULL},
	{"PWD=/home/x OLDPWD=/ -Dbypass=1 -Dcompass=n", NULL},
	{"-cp /opt/token-lib:/opt/secret.jar:lib/token.jar k8s://https://token-host:443", NULL},
	{"jceks://hdfs@secret-nn:9000/x.jceks secret-nn:9000", NULL},
	{"--photo-kernel 5 -Dx=da39a3ee5e6b4b0d3255bfef95601890afd80709", NULL},
	{"home/User12/ABC/projects/SparkJobs/target "
	 "com.acme.Abcdefghi2JklmnopqrStuvwxyzABCDEFGHIJKLM",
		NULL},
	{"TokenService 8080 com.acme.SecretMain a", NULL},
	{"--key value --keys 3 key=value", NULL},
	{"", NULL},
	{"  ", NULL},
	{"=", NULL},
	{"://", NULL},
};

Test(redact, lines)
{
	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		const char *want = lines[i].want ? lines[i].want : lines[i].in;

		sp_redact_line(lines[i].in, strlen(lines[i].in), &b);
		cr_expect_str_eq(sp_buf_str(&b), want, "%s\n  is  %s\n  not %s", lines[i].in,
			sp_buf_str(&b), want);
	}
}

Test(redact, a_word_may_hold_blanks)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	enum sp_redact_next expected = SP_REDACT_PLAIN;

	sp_redact_word("-Dx.password=two words", 22, &expected, &b);
	cr_expect_str_eq(sp_buf_str(&b), "-Dx.password=" R);
	sp_buf_clear(&b);
	sp_redact_word("--password", 10, &expected, &b);
	sp_redact_word("two words", 9, &expected, &b);
	cr_expect_str_eq(sp_buf_str(&b), "--password" R);
	cr_expect_eq(expected, SP_REDACT_PLAIN);
}

/* A word that is known to be one may hold a command line, or settings, of its own. */
Test(redact, words_within_a_word)
{
	static const struct {
		const char *in, *want;
	} cases[] = {
		{"-Djaas=LoginModule required username=\"u\" password=\"a b\" x;",
			"-Djaas=LoginModule required username=\"u\" password=" R " x;"},
		{"-Dopts=-Da.password=x -Db=y", "-Dopts=-Da.password=" R " -Db=y"},
		{"spark.executor.extraJavaOptions=--token x -Db=y",
			"spark.executor.extraJavaOptions=--token " R " -Db=y"},
		{"url=jdbc:sqlserver://h;password=two words;x=1",
			"url=jdbc:sqlserver://h;password=" R ";x=1"},
		{"spark.password=two words -x", "spark.password=" R},
		{"Authorization: Bearer x", "Authorization: Bearer " R},
		{"{\"password\": \"x\"}", "{\"password\": " R},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		enum sp_redact_next next = SP_REDACT_PLAIN;

		sp_redact_word(cases[i].in, strlen(cases[i].in), &next, &b);
		cr_expect_str_eq(
			sp_buf_str(&b), cases[i].want, "%s\n  is  %s", cases[i].in, sp_buf_str(&b));
	}
}

/* Lines are strangers' words: none may take long. Each is 256 KB; a square would be minutes. */
Test(redact, no_line_takes_long)
{
	static const char *const parts[] = {"://a:b", "=\"'", "-----BEGIN", ":oracle:/",
		"a=", "\"a b", "password:", "password ", "eyJ-", "= ", "://a:b@#", "{'\"", "-a="};
	enum { SIZE = 1 << 18 };
	char *s = malloc(SIZE);

	for (size_t i = 0; i < SP_COUNT(parts); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		size_t len = strlen(parts[i]);

		for (size_t k = 0; k < SIZE; k++)
			s[k] = parts[i][k % len];
		sp_redact_line(s, SIZE, &b);
		sp_buf_clear(&b);
		memset(s, 'a', SIZE / 2);
		s[0] = '-';
		sp_redact_line(s, SIZE, &b);
		cr_assert(!b.failed);
	}
	free(s);
}

Test(redact, properties)
{
	static const struct {
		const char *name, *value, *want;
	} cases[] = {
		{"spark.ssl.keyPassword", "a b", R},
		{"java.class.path", "/a:/b", "/a:/b"},
		{"url", "x://u:p@h", "x://u:" R "@h"},
		{"sun.java.command", "Main --password x", "Main --password " R},
		{"AWS_SECRET_ACCESS_KEY", "x", R},
		{"PWD", "/x", "/x"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};

		sp_redact_property(cases[i].name, strlen(cases[i].name), cases[i].value,
			strlen(cases[i].value), &b);
		cr_expect_str_eq(sp_buf_str(&b), cases[i].want, "%s", cases[i].name);
	}
}

Test(redact, fits_its_buffer_and_takes_any_bytes)
{
	char text[32] = "x --password=a b c d e f g";

	sp_redact_in_place(text, sizeof(text));
	cr_expect_eq(strlen(text), sizeof(text) - 1);
	cr_expect_eq(strncmp(text, "x --password=" R, sizeof(text) - 1), 0, "%s", text);
	for (unsigned seed = 0; seed < 20000; seed++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		static const char set[] = "=:/@-D pasword&;\"'?.AKI\xff\x01{}(\\";
		char s[24];

		for (size_t i = 0; i < sizeof(s); i++)
			s[i] = set[(size_t)rand_r(&seed) % (sizeof(set) - 1)];
		sp_redact_line(s, sizeof(s), &b);
		cr_assert(!b.failed);
	}
}
