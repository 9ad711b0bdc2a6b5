'use strict';
/* Which part of a Spark executor a frame belongs to. One table: the first line whose pattern matches
 * the frame's full name (with slashes, as recorded) wins, so special lines stand above general ones.
 * A frame that none matches is the user's own code if it is Java, and native otherwise.
 * "weak" areas say little by themselves: a stack's area is that of the frame nearest to its leaf
 * which is not weak; a HashMap lookup below a shuffle writer is shuffle. */
const AREAS = [
	['gc', 'GC', /^(G1|Parallel|Shenandoah|Z(Mark|Heap|Relocate|Driver|Collect)|PS(Promotion|Scavenge|Parallel)|GC|Concurrent(Mark|G1)|WorkerThread|GangWorker|SerialHeap|CMS|.*(CollectedHeap|OopClosure|MarkAndPush|Evacuat))/],
	['jit', 'JIT', /^(Compile(Broker|r|Queue)?::|C1_|C2Compiler|Compilation::|Phase[A-Z]\w*::|Parse::|LinearScan|GraphBuilder|JVMCI)/],
	['python', 'Python wait', /^org\/apache\/spark\/(api\/python\/|sql\/execution\/python\/)/],
	['codegen', 'SQL codegen', /GeneratedClass|GeneratedIterator|codegenStage|\/sql\/catalyst\/expressions\/codegen\/|WholeStageCodegen/i],
	['shuffle', 'Shuffle', /^org\/apache\/spark\/(shuffle\/|storage\/ShuffleBlock|storage\/BlockManager|util\/collection\/|network\/shuffle\/)|Shuffle|ExternalSorter|TimSort/],
	['columnar', 'Parquet, ORC', /^org\/apache\/(parquet|orc|iceberg\/parquet|avro)\/|datasources\/(parquet|orc)\/|^(com\/github\/luben\/zstd|org\/xerial\/snappy|net\/jpountz)\//],
	['serial', 'Serialisation', /^com\/esotericsoftware\/|^org\/apache\/spark\/serializer\/|^java\/io\/Object(Input|Output)Stream|^com\/fasterxml\/jackson\/|UnsafeRowSerializer|^com\/google\/protobuf\//],
	['store', 'HDFS, S3', /^org\/apache\/hadoop\/|^com\/amazonaws\/|^software\/amazon\/awssdk\/|^com\/google\/cloud\/hadoop\/|^com\/azure\//],
	['network', 'Network', /^io\/netty\/|^org\/apache\/spark\/(network|rpc)\/|^sun\/nio\/ch\/|^java\/net\/|^sun\/security\/ssl\/|^(epoll_wait|recv|recvfrom|recvmsg|send|sendto|sendmsg|tcp_|inet_|sock_)/],
	['sql', 'Spark SQL', /^org\/apache\/spark\/(sql|unsafe)\//],
	['spark', 'Spark', /^org\/apache\/spark\//],
	['kernel', 'Kernel', null, 'weak'],
	['jdk', 'JDK', /^(java|javax|jdk|sun|com\/sun)\//, 'weak'],
	['scala', 'Scala', /^scala\//, 'weak'],
	['native', 'Native', null, 'weak'],
	['user', 'Your code', null],
].map(([id, name, pattern, weak], index) => ({id, name, pattern, weak: !!weak, index}));
const AREA_INDEX = Object.fromEntries(AREAS.map((a) => [a.id, a.index]));
const TYPE_NATIVE = 4, TYPE_CPP = 5, TYPE_KERNEL = 6;

/* The index in AREAS of a frame. @type: enum sp_frame_type. */
const knownAreas = new Map();
function areaOf(name, type) {
	const key = `${type}${name}`;
	let area = knownAreas.get(key);
	if (area === undefined)
		knownAreas.set(key, area = findArea(name, type));
	return area;
}

function findArea(name, type) {
	for (const a of AREAS) {
		if (a.id === 'kernel' && type === TYPE_KERNEL)
			return a.index;
		if (a.pattern && a.pattern.test(name))
			return a.index;
	}
	return type >= TYPE_NATIVE || name.startsWith('[') ? AREA_INDEX.native : AREA_INDEX.user;
}
