# fish completion for sparkprof(1). tests/lint compares it with launcher/cli/options.def.

function __sparkprof_action --description 'whether the action of the line is one of these'
    set -l action collect
    for word in (commandline -opc)[2..]
        if contains -- $word collect start stop dump resume status list ps stack report diff version
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

set -l events \
    cpu ctimer itimer wall alloc live lock nativemem cpu-clock task-clock page-faults minor-faults major-faults \
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
complete -c sparkprof -n '__sparkprof_action collect start resume' -l wall -x -d 'sample wall clock too'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l alloc -x -d 'sample Java allocations too'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l live -d 'only objects still alive'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l lock -x -d 'tell waits for locks too'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l nativemem -x -d 'sample malloc too'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l trace -x -d 'time the calls of a Java method'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l nofree -d 'do not follow free'
complete -c sparkprof -n '__sparkprof_action collect start resume stack' -l all -d 'every kind of event at once'
complete -c sparkprof -n '__sparkprof_action collect start resume' -s j -l jstackdepth -x -d 'deepest stack to keep'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l filter -x -d 'only these thread ids'
complete -c sparkprof -n '__sparkprof_action collect start resume stack report diff' -l thread -x -d 'only threads with such a name'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l driver-ui -x -d 'where the driver tells names of stages'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l capture -x -a 'ring signal' -d 'how samples are taken'
complete -c sparkprof -n '__sparkprof_action collect' -l python -x -a 'auto on off' -d 'sample Python workers below a JVM'
complete -c sparkprof -n '__sparkprof_action collect stack' -l native -d 'native frames of Python processes too'
complete -c sparkprof -n '__sparkprof_action collect' -l blocking -d 'stop Python threads while they are read'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l memory -x -d 'most memory in the target'
complete -c sparkprof -n '__sparkprof_action collect' -s d -l duration -x -d 'profile for this long'
complete -c sparkprof -n '__sparkprof_action start resume' -l timeout -x -d 'stop by itself after this long'
complete -c sparkprof -n '__sparkprof_action collect start stop dump resume status list stack' -l attach-timeout -x -d 'give up on a silent target'
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
complete -c sparkprof -n '__sparkprof_action collect start stop dump resume report diff' -s o -l output -x -a 'html svg text collapsed jfr pprof speedscope csv json md' -d 'output format'
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
complete -c sparkprof -n '__sparkprof_action collect start resume' -l chunksize -x -d 'new chunk after so many bytes'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l chunktime -x -d 'new chunk after this long'
complete -c sparkprof -n '__sparkprof_action collect start resume' -l force -d 'go on though memory is short'
complete -c sparkprof -n '__sparkprof_action status list ps stack' -l json -d 'print JSON'
complete -c sparkprof -s q -l quiet -d 'errors only'
complete -c sparkprof -s h -l help -d 'show help'
complete -c sparkprof -s v -l version -d 'print the version'
