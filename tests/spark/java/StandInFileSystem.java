/** Stands in for a cluster's file system whose faults are ordered by files in standin.dir: "noappend": nothing can be appended
 *  to, as on S3A; "down": nobody answers; "forbidden": who asks may not; "torn": half of what is written arrives,
 *  then the connection breaks. As on HDFS one that was closed does nothing any more. All else is the local disk. */
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.util.Progressable;

public class StandInFileSystem extends RawLocalFileSystem {
    private volatile boolean closed;

    @Override
    public void close() throws IOException {
        closed = true;
        super.close();
    }

    @Override
    public URI getUri() {
        return URI.create("standin:///");
    }

    @Override
    public String getScheme() {
        return "standin";
    }

    private boolean is(String fault) {
        return new File(getConf().get("standin.dir"), fault).exists();
    }

    private void ask() throws IOException {
        if (closed)
            throw new IOException("Filesystem closed"); // HDFS's words
        if (is("down"))
            throw new IOException("the stand-in is down");
        if (is("forbidden"))
            throw new AccessControlException("the stand-in does not know you");
    }

    private FSDataOutputStream broken(FSDataOutputStream out) throws IOException {
        if (!is("torn"))
            return out;
        return new FSDataOutputStream(new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                out.write(b);
            }

            @Override
            public void write(byte[] b, int at, int n) throws IOException {
                out.write(b, at, n / 2);
                out.close();
                throw new IOException("the stand-in broke off");
            }
        }, null);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        ask();
        return super.getFileStatus(path);
    }

    @Override
    public FSDataOutputStream create(Path path, boolean overwrite, int buffer, short copies, long block, Progressable progress)
            throws IOException {
        ask();
        return broken(super.create(path, overwrite, buffer, copies, block, progress));
    }

    @Override
    public FSDataOutputStream create(Path path, FsPermission mode, boolean overwrite, int buffer, short copies, long block,
            Progressable progress) throws IOException {
        ask();
        return broken(super.create(path, mode, overwrite, buffer, copies, block, progress));
    }

    @Override
    public FSDataOutputStream append(Path path, int buffer, Progressable progress) throws IOException {
        ask();
        if (is("noappend"))
            throw new UnsupportedOperationException("Append is not supported by StandInFileSystem");
        return broken(super.append(path, buffer, progress));
    }
}
