package com.acme.etl;

import java.io.IOException;
import java.net.Socket;
import org.apache.spark.sql.api.java.UDF2;

/** A UDF that asks a service, at a port of this host, for each row. */
public final class Ask implements UDF2<Integer, Long, Long> {
    private static long answer(int port, long id) throws IOException {
        try (Socket s = new Socket("127.0.0.1", port)) {
            s.getOutputStream().write((int) id);
            return s.getInputStream().read();
        }
    }

    @Override
    public Long call(Integer port, Long id) throws IOException {
        return answer(port, id);
    }
}
