# fish completion for sparkprof(1). tests/lint compares it with launcher/cli/options.def.

function __sparkprof_action --description 'whether the action of the line is one of these'
    set -l action collect
    for word in (commandline -opc)[2..]
        if contains -- $word collect start stop dump resume status metrics list ps stack report diff version
            set action $word
            break
        end
    end
    contains -- $action $argv
end

function __sparkprof_targets --description 'live JVMs: pids with their roles'
    sparkprof ps 2>/dev/null | string match -rg '^\s*(\d+\s+.*)' | string replace -r '^(\d+)\s+' '$1\t'
    printf '%s\t%s\n' driver 'the driver of this host' executor 'the executor of this host' \
        executors 'all executors of this host'
end

function __sparkprof_kubectl --description 'names that kubectl knows; none where it does not answer at once'
    kubectl --request-timeout=2s $argv 2>/dev/null | string replace -r '^namespace/' ''
end

set -l events \
    cpu ctimer itimer wall alloc live lock nativelock nativemem cpu-clock task-clock page-faults minor-faults major-faults \
    context-switches cpu-migrations alignment-faults emulation-faults cycles instructions \
    cache-references cache-misses branch-instructions branch-misses bus-cycles ref-cycles \
    stalled-cycles-frontend stalled-cycles-backend L1-dcache-loads L1-dcache-load-misses \
    L1-dcache-stores L1-icache-load-misses LLC-loads LLC-load-misses LLC-stores LLC-store-misses \
    dTLB-loads dTLB-load-misses dTLB-store-misses iTLB-loads iTLB-load-misses branch-loads \
    branch-load-misses

complete -c sparkprof -f
complete -c sparkprof -n __fish_is_first_arg -a collect -d "profile for a while, then write the outputs (the default)"
complete -c sparkprof -n __fish_is_first_arg -a start -d "begin a recording and leave it running"
complete -c sparkprof -n __fish_is_first_arg -a stop -d "end a recording and write its outputs"
complete -c sparkprof -n __fish_is_first_arg -a dump -d "write what has been recorded so far and go on"
complete -c sparkprof -n __fish_is_first_arg -a resume -d "go on with a stopped recording, keeping its samples"
complete -c sparkprof -n __fish_is_first_arg -a status -d "say what is being recorded in a target"
complete -c sparkprof -n __fish_is_first_arg -a metrics -d "print what is being recorded in a target as numbers for Prometheus"
complete -c sparkprof -n __fish_is_first_arg -a list -d "list every event, and why one is not available here"
complete -c sparkprof -n __fish_is_first_arg -a ps -d "list the JVMs of this host, Spark's first"
complete -c sparkprof -n __fish_is_first_arg -a stack -d "print what the tasks of an executor, or the threads of another JVM or Python, do at this moment"
complete -c sparkprof -n __fish_is_first_arg -a report -d "make reports of recordings, collapsed text, pprof or perf script files"
complete -c sparkprof -n __fish_is_first_arg -a diff -d "compare two recordings: what grew and what shrank"
complete -c sparkprof -n __fish_is_first_arg -a version -d "print the version"
complete -c sparkprof -n '__sparkprof_action report diff' -F
complete -c sparkprof -n 'not __sparkprof_action ps version report diff' -a '(__sparkprof_targets)'

complete -c sparkprof -n '__sparkprof_action collect start resume report diff' -s e -l event -x -a "$events" -d 'what to sample'
complete -c sparkprof -n '__sparkprof_action collect start resume' -s i -l interval -x -d 'time between samples'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l wall -x -d 'also sample wall-clock time'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l alloc -x -d 'also sample Java allocations'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l live -d 'report only objects still alive at the end'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l lock -x -d 'also record waits for Java locks'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l nativelock -x -d 'also record waits for locks of native code'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l nativemem -x -d 'also sample native allocations'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l trace -x -d 'time the calls of a Java method'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l nofree -d 'do not follow free'
complete -c sparkprof -n '__sparkprof_action collect start resume stack' -l all -d 'every kind of event at once'
complete -c sparkprof -n '__sparkprof_action collect start resume' -s j -l jstackdepth -x -d 'frames to keep of a stack'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l filter -x -d 'only these thread ids'
complete -c sparkprof -n '__sparkprof_action collect start resume stack report diff' -l thread -x -d 'only threads with such a name'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l via -x -a 'local ssh kubectl' -d 'do it on other hosts by ssh, in pods by kubectl'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l hosts -x -d 'names of hosts or pods, or @FILE'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l rm -x -d 'URL of the ResourceManager'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l master -x -d 'URL of the UI of a standalone master'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l user -x -d 'log in there with this name'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l ssh-option -x -d 'an option for ssh, as after its -o'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l sudo -d 'run there by sudo'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l namespace -x -a '(__sparkprof_kubectl get namespaces -o name)' -d 'namespace of the pods'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l context -x -a '(__sparkprof_kubectl config get-contexts -o name)' -d 'cluster and user of kubectl'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l container -x -d 'container of each pod'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l executors -x -d 'only these executors: 1,4-9'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l slowest -x -d 'only this many executors, with the longest tasks'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l fraction -x -d 'only this part of the executors'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l driver -x -a 'on off' -d 'with or without drivers'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l parallel -x -d 'connect to at most this many hosts at a time'
complete -c sparkprof -n '__sparkprof_action collect' -l follow -d 'take in executors that come while it records'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l strict -d 'fail where a host or a target fails'
complete -c sparkprof -n '__sparkprof_action collect start stop dump status list ps stack' -l dry-run -d 'only print what would be run where'
complete -c sparkprof -n '__sparkprof_action collect start resume stop dump status list ps stack' -l driver-ui -x -d 'URL of the driver UI, for names of stages'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l all-user -d 'perf events: only user mode'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l target-cpu -x -d 'of perf events only what runs on this CPU'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l ttsp -d 'only while the JVM waits for a safepoint'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l proc -x -d 'who else uses the machine, looked at at this interval'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l begin -x -d 'only from a call of this native function on'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l end -x -d 'with --begin, until a call of this one'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l nostop -d 'with --begin, sample outside of it too'
complete -c sparkprof -n '__sparkprof_action collect start resume' -s F -l features -x -a 'vtable comptask vtable,comptask' -d 'frames that say more'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l cstack -x -a 'no fp dwarf lbr vm vmx' -d 'native frames to keep'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l kernel -x -a 'on off' -d 'frames of the kernel'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l capture -x -a 'ring signal' -d 'how samples are taken'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l python -x -a 'auto on off' -d 'sample Python workers below a JVM'
complete -c sparkprof -n '__sparkprof_action collect stack' -l native -d 'native frames of Python processes too'
complete -c sparkprof -n '__sparkprof_action collect' -l blocking -d 'stop Python threads while they are read'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l memory -x -d 'most memory in the target'
complete -c sparkprof -n '__sparkprof_action collect' -s d -l duration -x -d 'profile for this long'
complete -c sparkprof -n '__sparkprof_action start resume' -l timeout -x -d 'stop by itself after this long'
complete -c sparkprof -n '__sparkprof_action collect start stop dump resume status metrics list stack' -l attach-timeout -x -d 'give up on a silent target'
complete -c sparkprof -n '__sparkprof_action report diff' -l from -x -d 'only what came later'
complete -c sparkprof -n '__sparkprof_action report diff' -l to -x -d 'only what came earlier'
complete -c sparkprof -n '__sparkprof_action report diff' -l state -x -d 'only threads in these states'
complete -c sparkprof -n '__sparkprof_action report diff' -l min-duration -x -d 'no shorter locks and waits'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l by -x -a 'thread class executor stage task area app sql state wait operator' -d 'what to put below each stack'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l stage -x -d 'only tasks of this stage'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l task -x -d 'only the task attempt of this TID'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l sql -x -d 'only tasks of this SQL execution'
complete -c sparkprof -n '__sparkprof_action report diff' -l executor -x -d 'only recordings of this executor'
complete -c sparkprof -n '__sparkprof_action report diff' -l host -x -d 'only recordings of executors on this host'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l tasks-only -d 'only threads inside of tasks'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l all-threads -d 'also threads outside of tasks'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l python-both -d 'count waits for Python and Python'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l event-log -r -F -d 'names of stages from Spark'
complete -c sparkprof -n '__sparkprof_action report diff' -l names -x -a 'full short' -d 'how names are written'
complete -c sparkprof -n '__sparkprof_action report diff' -l areas -r -d 'areas of your own'
complete -c sparkprof -n '__sparkprof_action diff' -l absolute -d 'compare numbers, not shares'
complete -c sparkprof -n '__sparkprof_action collect start stop dump resume report diff' -s f -l file -r -F -d 'output file'
complete -c sparkprof -n '__sparkprof_action collect start stop dump resume report diff' -s o -l output -x -a 'html svg text collapsed jfr pprof otlp speedscope csv json md flamegraph tree flat traces' -d 'output format'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -s t -l threads -d 'keep threads apart'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -s s -l simple -d 'class names without packages'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -s a -l ann -d 'mark frames by kind'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l lines -d 'keep lines of a method apart'
complete -c sparkprof -n '__sparkprof_action collect stop dump report' -l source -x -a '(__fish_complete_directories)' -d 'show the code of the hottest lines'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -s l -l lib -d 'library names before native frames'
complete -c sparkprof -n '__sparkprof_action collect start resume report stack' -l no-redact -d 'leave passwords and tokens in'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l total -d 'weigh by time or events'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -s I -l include -x -d 'only stacks with such a frame'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -s X -l exclude -x -d 'no stacks with such a frame'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l chunksize -x -d 'new chunk after SIZE bytes'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l chunktime -x -d 'new chunk after this long'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l force -d 'go on though memory is short'
complete -c sparkprof -n '__sparkprof_action status list ps stack' -l json -d 'print JSON'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l memlimit -x -d 'most memory in the target'
complete -c sparkprof -n '__sparkprof_action start' -l loop -x -d 'begin a new file after this long'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -s g -l sig -d 'method signatures'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -s n -l norm -d 'one name for lambdas of a class'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l dot -d 'dots in class names'
complete -c sparkprof -n '__sparkprof_action collect stop dump report diff' -l samples -d 'weigh by samples'
complete -c sparkprof -n '__sparkprof_action collect stop dump report' -l title -x -d 'title of the page'
complete -c sparkprof -n '__sparkprof_action collect stop dump report' -l minwidth -x -d 'leave out narrower frames'
complete -c sparkprof -n '__sparkprof_action collect stop dump report' -l reverse -d 'callers above callees'
complete -c sparkprof -n '__sparkprof_action collect stop dump report' -l inverted -d 'roots at the top'
complete -c sparkprof -s L -l log -x -a 'debug info warn error none' -d 'how much to say'
complete -c sparkprof -s q -l quiet -d 'errors only'
complete -c sparkprof -s h -l help -d 'show help'
complete -c sparkprof -s v -l version -d 'print the version'
