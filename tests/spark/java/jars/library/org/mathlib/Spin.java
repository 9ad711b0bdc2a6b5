package org.mathlib;

/** A library of the application's: CPU time in a loop that the compiler cannot leave out. */
public final class Spin {
    public static long spin(long x, int rounds) {
        for (int i = 0; i < rounds; i++)
            x = x * 6364136223846793005L + 1442695040888963407L ^ x >>> 17;
        return x;
    }
}
