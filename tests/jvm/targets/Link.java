import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Links every class below a directory, which makes the JVM verify it, and prints those that it refuses. */
public class Link {
    public static void main(String[] args) throws Exception {
        Path root = Path.of(args[0]);
        URLClassLoader loader = new URLClassLoader(new URL[] {root.toUri().toURL()}, Link.class.getClassLoader());
        int linked = 0;
        Object[] files;
        try (Stream<Path> all = Files.walk(root)) {
            files = all.filter(p -> p.toString().endsWith(".class")).toArray();
        }
        for (Object p : files) {
            String name = root.relativize((Path) p).toString().replace(File.separatorChar, '.').replaceAll("\\.class$", "");
            try {
                Class.forName(name, false, loader).getDeclaredMethods();
                linked++;
            } catch (VerifyError | ClassFormatError e) {
                System.out.println("refused " + name + ": " + e);
            } catch (LinkageError e) {
                // what it needs is not here
            }
        }
        System.out.println("linked " + linked);
    }
}
