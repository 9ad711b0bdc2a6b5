import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/** A Java agent that damages one method of Calls$Later whenever classes are transformed again: what others make of that class
 *  then fails verification. */
public class Spoiler implements ClassFileTransformer {
    public static void premain(String args, Instrumentation inst) {
        inst.addTransformer(new Spoiler(), true);
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
        if (redefined == null || !"Calls$Later".equals(name)) return null;
        byte[] damaged = file.clone();
        for (int i = 0; i + 1 < damaged.length; i++) // iconst_4, ireturn becomes iconst_4, areturn
            if (damaged[i] == 0x07 && (damaged[i + 1] & 0xff) == 0xac) damaged[i + 1] = (byte) 0xb0;
        return damaged;
    }
}
