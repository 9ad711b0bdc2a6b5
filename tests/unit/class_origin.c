/* Areas by where a class came from, and work that covers what it is done with. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/cleanup.h"
#include "prof/spark/area.h"
#include "sample_profile.h"

static const char *area_of(
	struct sp_areas *a, struct sp_profile *p, const char *leaf, const char *caller)
{
	struct sp_frame_ref f[] = {java(p, leaf, "run", "()V", SP_FRAME_C2),
		java(p, caller ? caller : leaf, "run", "()V", SP_FRAME_C2)};

	return sp_areas_get(a, sp_area_of_stack(a, p->dict, f, 2))->name;
}

static void came_from(struct sp_profile *p, const char *location, const char *classes)
{
	cr_assert_eq(sp_profile_source(p, str(p, location), str(p, classes)), 0);
}

Test(class_origin, jars_beside_sparks_own_are_not_yours)
{
	struct sp_profile *p = sample_profile();
	struct sp_areas *a;

	cr_assert_eq(sp_areas_new(&a, NULL, NULL), 0);
	cr_expect_str_eq(area_of(a, p, "com/fancy/Gson", NULL), "your code");
	came_from(p, "/opt/spark/jars/spark-core_2.13-4.0.0.jar", "org/apache/spark/SparkEnv");
	came_from(p, "/opt/spark/jars/fancy-1.0.jar", "com/fancy/Gson\ncom/fancy/Json");
	came_from(p, "/srv/app/0/etl.jar",
		"com/acme/etl/Job\nshaded/org/thing/Parser\norg/apache/lib/X");
	came_from(p, "/srv/app/0/org.acme_connector-1.2.jar", "org/acme/Connector");
	cr_assert_eq(sp_areas_learn(a, p), 0);
	cr_expect_str_eq(area_of(a, p, "com/fancy/Gson", NULL), "Spark's libraries");
	cr_expect_str_eq(area_of(a, p, "com/fancy/Json", NULL), "Spark's libraries");
	cr_expect_str_eq(area_of(a, p, "com/acme/etl/Job", NULL), "your code");
	cr_expect_str_eq(
		area_of(a, p, "com/acme/etl/Job$$Lambda$12/0x0000000800c3a840", NULL), "your code");
	cr_expect_str_eq(area_of(a, p, "shaded/org/thing/Parser", NULL), "your libraries");
	cr_expect_str_eq(area_of(a, p, "org/apache/lib/X", NULL), "your libraries");
	cr_expect_str_eq(area_of(a, p, "org/acme/Connector", NULL), "your libraries");
	cr_expect_str_eq(area_of(a, p, "com/never/Told", NULL), "your code");
	sp_areas_free(a);
	sp_profile_free(p);
}

/* The jar says whose a class is, where a name would say another; what libraries are inside of the
 * application's own jar only their names say. */
Test(class_origin, a_jar_knows_better_than_a_name)
{
	static const char *const cases[][2] = {
		{"io/acme/orders/Enrich", "your code"},
		{"net/acme/billing/Rates", "your code"},
		{"com/acme/PythonRunnerPool", "your code"},
		{"com/acme/FastRow$SpecificPredicate", "your code"},
		{"io/circe/Parser", "your libraries"},
		{"net/sf/jsqlparser/Parser", "your libraries"},
		{"org/apache/spark/sql/kafka010/KafkaSourceRDD", "your libraries"},
		{"org/apache/spark/streaming/acme/Receiver", "your libraries"},
		{"org/apache/spark/sql/avro/AvroDeserializer", "your libraries"},
		{"com/azure/storage/blob/BlobClient", "HDFS/S3"},
		{"org/apache/iceberg/Scan", "Parquet/ORC"},
		{"org/apache/spark/sql/execution/SparkPlan", "Spark SQL"},
	};
	struct sp_profile *p = sample_profile();
	struct sp_areas *a;

	cr_assert_eq(sp_areas_new(&a, NULL, NULL), 0);
	came_from(p, "/opt/spark/jars/spark-core_2.13-4.0.0.jar", "org/apache/spark/SparkEnv");
	came_from(p, "/opt/spark/jars/spark-sql_2.13-4.0.0.jar",
		"org/apache/spark/sql/execution/SparkPlan");
	came_from(p, "/srv/app/0/etl.jar",
		"io/acme/orders/Enrich\nnet/acme/billing/Rates\ncom/acme/PythonRunnerPool\n"
		"com/acme/FastRow$SpecificPredicate\nio/circe/Parser\nnet/sf/jsqlparser/Parser\n"
		"com/azure/storage/blob/BlobClient\norg/apache/spark/streaming/acme/Receiver");
	came_from(p, "/srv/app/0/org.apache.spark_spark-sql-kafka-0-10_2.13-4.0.0.jar",
		"org/apache/spark/sql/kafka010/KafkaSourceRDD");
	came_from(p, "/srv/app/0/org.apache.spark_spark-avro_2.13-4.0.0.jar",
		"org/apache/spark/sql/avro/AvroDeserializer");
	came_from(p, "/srv/app/0/org.apache.iceberg_iceberg-spark-runtime-1.5.0.jar",
		"org/apache/iceberg/Scan");
	cr_assert_eq(sp_areas_learn(a, p), 0);
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		cr_expect_str_eq(area_of(a, p, cases[i][0], NULL), cases[i][1], "%s", cases[i][0]);
	sp_areas_free(a);
	sp_profile_free(p);
}

Test(class_origin, what_spark_brings_has_areas_of_its_own)
{
	static const char *const cases[][3] = {
		{"dev/ludovic/netlib/blas/Java11BLAS", NULL, "ML/BLAS"},
		{"org/netlib/blas/Dspr", "dev/ludovic/netlib/blas/Java8BLAS", "ML/BLAS"},
		{"java/net/Socket$SocketInputStream",
			"org/apache/spark/api/python/PythonRunner$$anon$3", "JVM-Python exchange"},
		{"net/razorvine/pickle/Pickler", "org/apache/spark/api/python/SerDeUtil$",
			"serialisation"},
		{"java/net/Socket$SocketInputStream", "com/acme/Job", "network"},
		{"org/rocksdb/RocksDB", NULL, "state store"},
		{"net/razorvine/pickle/Unpickler", NULL, "serialisation"},
		{"shaded/parquet/org/apache/thrift/protocol/TCompactProtocol", NULL, "Parquet/ORC"},
		{"java/lang/ProcessImpl", NULL, "child processes"},
		{"org/apache/spark/util/HadoopFSUtils$", NULL, "file listing and commit"},
		{"net/jpountz/lz4/LZ4JNI",
			"org/apache/spark/util/collection/unsafe/sort/UnsafeSorterSpillWriter",
			"spill"},
		{"net/jpountz/lz4/LZ4JNI", "com/acme/Job", "compression"},
		{"com/acme/Job", "org/rocksdb/RocksDB", "your code"},
	};
	struct sp_profile *p = sample_profile();
	struct sp_areas *a;

	cr_assert_eq(sp_areas_new(&a, NULL, NULL), 0);
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		cr_expect_str_eq(area_of(a, p, cases[i][0], cases[i][1]), cases[i][2]);
	sp_areas_free(a);
	sp_profile_free(p);
}
