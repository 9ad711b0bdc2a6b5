/** Spark's own SparkEnv, SparkConf and SparkHadoopUtil in a JVM without driver and tasks, as the agent finds them in an
 *  executor. Prints "ready" and waits for its standard input to end; each line of it closes all of Hadoop's file systems. Arguments: --app-id A --executor-id E and pairs of
 *  configuration as "key=value". */
import java.lang.reflect.Constructor;
import org.apache.hadoop.fs.FileSystem;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;

public class BareExecutor {
    public static void main(String[] args) throws Exception {
        SparkConf conf = new SparkConf(false).set("spark.app.id", args[1]).set("spark.executor.id", args[3]);
        for (int i = 4; i < args.length; i++)
            conf.set(args[i].substring(0, args[i].indexOf('=')), args[i].substring(args[i].indexOf('=') + 1));
        Constructor<?> make = SparkEnv.class.getConstructors()[0];
        Object[] values = new Object[make.getParameterCount()];
        for (int i = 0; i < values.length; i++) {
            Class<?> type = make.getParameterTypes()[i];
            values[i] = type == SparkConf.class ? conf : type == String.class ? args[3] : null;
        }
        SparkEnv.set((SparkEnv) make.newInstance(values));
        System.out.println("ready");
        for (int c; (c = System.in.read()) >= 0;)
            if (c == '\n')
                FileSystem.closeAll();
        System.exit(0);
    }
}
