# bash completion for sparkprof(1). tests/lint compares it with launcher/cli/options.def.

_sparkprof_options() { # of an action
    case $1 in
    collect)
        echo "-e --event -i --interval --wall --alloc --live --lock --nativelock --nativemem --nofree --all -j --jstackdepth --filter --thread --driver-ui --all-user --target-cpu --ttsp --proc --begin --end --nostop -F --features --cstack --kernel --capture --python --native --blocking --memory --memlimit --trace
            -d --duration --attach-timeout --by --stage --task --sql --tasks-only --all-threads --python-both --event-log
            -f --file -o --output -t --threads -s --simple -a --ann --lines --source -l --lib --total
            -g --sig -n --norm --dot --samples --title --minwidth --reverse --inverted -I --include
            -X --exclude --chunksize --chunktime --no-redact --force --via --hosts --rm --master --user --ssh-option --sudo --namespace --context --container --executors --slowest --fraction --driver --parallel --follow --strict --dry-run -L --log -q --quiet -h --help -v --version" ;;
    start)
        echo "-e --event -i --interval --wall --alloc --live --lock --nativelock --nativemem --nofree --all -j --jstackdepth --filter --thread --driver-ui --all-user --target-cpu --ttsp --proc --begin --end --nostop -F --features --cstack --kernel --capture --python --memory --memlimit --trace
            --timeout --loop --attach-timeout -f --file -o --output --chunksize --chunktime --no-redact --force --via --hosts --rm --master --user --ssh-option --sudo --namespace --context --container --executors --slowest --fraction --driver --parallel --strict --dry-run -L --log -q
            --quiet -h --help -v --version" ;;
    resume)
        echo "-e --event -i --interval --wall --alloc --live --lock --nativelock --nativemem --nofree --all -j --jstackdepth --filter --thread --driver-ui --all-user --target-cpu --ttsp --proc --begin --end --nostop -F --features --cstack --kernel --capture --python --memory --memlimit --trace
            --timeout --attach-timeout -f --file -o --output --chunksize --chunktime --no-redact --force -L --log -q
            --quiet -h --help -v --version" ;;
    stop | dump)
        echo "--attach-timeout --by --stage --task --sql --tasks-only --all-threads --python-both --event-log -f --file -o --output -t --threads -s --simple -a --ann --lines --source -l --lib
            -g --sig -n --norm --dot --samples --title --minwidth --reverse --inverted --total -I --include -X --exclude --driver-ui --via --hosts --rm --master --user --ssh-option --sudo --namespace --context --container --executors --slowest --fraction --driver --parallel --strict --dry-run -L --log -q --quiet -h --help -v --version" ;;
    report)
        echo "-e --event --thread --from --to --state --min-duration --by --stage --task --sql --executor --host
            --tasks-only --all-threads --python-both --event-log --names --areas -f --file
            -o --output -t --threads -s --simple -a --ann --lines --source -l --lib --no-redact --total
            -g --sig -n --norm --dot --samples --title --minwidth --reverse --inverted -I --include -X
            --exclude -L --log -q --quiet -h --help -v --version" ;;
    diff)
        echo "-e --event --thread --from --to --state --min-duration --by --stage --task --sql --executor --host
            --tasks-only --all-threads --python-both --event-log --names --areas
            --absolute -f --file -o --output -t --threads -s --simple -a --ann --lines -l --lib --total -g --sig -n --norm --dot --samples -I
            --include -X --exclude -L --log -q --quiet -h --help -v --version" ;;
    metrics)
        echo "--attach-timeout -L --log -q --quiet -h --help -v --version" ;;
    status)
        echo "--attach-timeout --json --driver-ui --via --hosts --rm --master --user --ssh-option --sudo --namespace --context --container --executors --slowest --fraction --driver --parallel --strict --dry-run -L --log -q --quiet -h --help -v --version" ;;
    list)
        echo "--attach-timeout --json --driver-ui --via --hosts --rm --master --user --ssh-option --sudo --namespace --context --container --executors --slowest --fraction --driver --parallel --strict --dry-run -L --log -q --quiet -h --help -v --version" ;;
    ps)
        echo "--json --driver-ui --via --hosts --rm --master --user --ssh-option --sudo --namespace --context --container --executors --slowest --fraction --driver --parallel --strict --dry-run -L --log -q --quiet -h --help -v --version" ;;
    stack)
        echo "--all --thread --native --no-redact --attach-timeout --json --driver-ui --via --hosts --rm --master --user --ssh-option --sudo --namespace --context --container --executors --slowest --fraction --driver --parallel --strict --dry-run -L --log -q --quiet -h --help -v --version" ;;
    version)
        echo "-L --log -q --quiet -h --help -v --version" ;;
    esac
}

_sparkprof_events="
    cpu ctimer itimer wall alloc live lock nativelock nativemem cpu-clock task-clock page-faults minor-faults major-faults
    context-switches cpu-migrations alignment-faults emulation-faults cycles instructions
    cache-references cache-misses branch-instructions branch-misses bus-cycles ref-cycles
    stalled-cycles-frontend stalled-cycles-backend L1-dcache-loads L1-dcache-load-misses
    L1-dcache-stores L1-icache-load-misses LLC-loads LLC-load-misses LLC-stores LLC-store-misses
    dTLB-loads dTLB-load-misses dTLB-store-misses iTLB-loads iTLB-load-misses branch-loads
    branch-load-misses"

# Live JVMs, one "pid role …" a line.
_sparkprof_jvms() {
    "$1" ps 2>/dev/null | sed -n 's/^ *\([0-9][0-9]* .*\)/\1/p'
}

# Pids, and the words for Spark's roles that are there. A list of several is shown with the roles; readline
# inserts only what they have in common.
_sparkprof_targets() {
    local jvm pid role
    local -a jvms
    mapfile -t jvms < <(_sparkprof_jvms "$1")
    for jvm in "${jvms[@]}"; do
        read -r pid role _ <<<"$jvm"
        [[ $pid == "$cur"* ]] && COMPREPLY+=("$pid")
        [[ $role == driver || $role == executor ]] && offers+=" $role"
    done
    if [[ ${#COMPREPLY[@]} -gt 1 && $COMP_TYPE != 37 ]]; then
        COMPREPLY=()
        for jvm in "${jvms[@]}"; do
            [[ $jvm == "$cur"* ]] && COMPREPLY+=("${jvm:0:${COLUMNS:-80}-4}")
        done
    fi
}

# Names that kubectl knows; none where it does not answer at once.
_sparkprof_kubectl() {
    kubectl --request-timeout=2s "$@" 2>/dev/null | sed 's|^namespace/||'
}

_sparkprof_action() { # the action among the words so far
    local w
    for w in "${words[@]:1:cword-1}"; do
        case $w in
        collect | start | stop | dump | resume | status | metrics | list | ps | stack | report | diff | version)
            echo "$w"
            return ;;
        esac
    done
    echo collect
}

_sparkprof_value() { # the value of option $1; fails where that takes none
    local done=
    case $1 in
    -e | --event)
        [[ $cur == *,* ]] && done=${cur%,*},
        mapfile -t COMPREPLY < <(compgen -P "$done" -W "$_sparkprof_events" -- "${cur##*,}") ;;
    -F | --features)
        mapfile -t COMPREPLY < <(compgen -W "vtable comptask vtable,comptask" -- "$cur") ;;
    --cstack)
        mapfile -t COMPREPLY < <(compgen -W "no fp dwarf lbr vm vmx" -- "$cur") ;;
    --kernel)
        mapfile -t COMPREPLY < <(compgen -W "on off" -- "$cur") ;;
    --capture)
        mapfile -t COMPREPLY < <(compgen -W "ring signal" -- "$cur") ;;
    --python)
        mapfile -t COMPREPLY < <(compgen -W "auto on off" -- "$cur") ;;
    --by)
        mapfile -t COMPREPLY < <(compgen -W "thread class executor stage task area app sql state wait operator" -- "$cur") ;;
    --names)
        mapfile -t COMPREPLY < <(compgen -W "full short" -- "$cur") ;;
    --source)
        _filedir -d ;;
    -f | --file | --areas | --event-log)
        _filedir ;;
    -o | --output)
        mapfile -t COMPREPLY < <(compgen -W "html svg text collapsed jfr pprof otlp speedscope csv json md flamegraph tree flat traces" -- "$cur") ;;
    --via)
        mapfile -t COMPREPLY < <(compgen -W "local ssh kubectl" -- "$cur") ;;
    --driver)
        mapfile -t COMPREPLY < <(compgen -W "on off" -- "$cur") ;;
    --namespace)
        mapfile -t COMPREPLY < <(compgen -W "$(_sparkprof_kubectl get namespaces -o name)" -- "$cur") ;;
    --context)
        mapfile -t COMPREPLY < <(compgen -W "$(_sparkprof_kubectl config get-contexts -o name)" -- "$cur") ;;
    -L | --log)
        mapfile -t COMPREPLY < <(compgen -W "debug info warn error none" -- "$cur") ;;
    -i | --interval | --wall | --alloc | --lock | --nativelock | --nativemem | -j | --jstackdepth | --filter | --thread | --driver-ui | --target-cpu | --proc | --begin | --end | --memory | --memlimit | --loop | --title | --minwidth | --trace | -d | \
    --duration | --timeout | --attach-timeout | -I | --include | -X | --exclude | --chunksize | \
    --chunktime | --from | --to | --state | --min-duration | --stage | --task | --sql | --executor | --host | \
    --hosts | --rm | --master | --user | --ssh-option | --container | --executors | --slowest | --fraction | --parallel)
        ;; # a number or a pattern: nothing to offer
    *) return 1 ;;
    esac
}

_sparkprof() {
    local cur prev words cword split action
    _init_completion -s -n : || return
    action=$(_sparkprof_action)
    if [[ $prev == --help && $split == true ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_sparkprof_options collect | tr -d -)" -- "$cur")
    elif _sparkprof_value "$prev"; then
        :
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_sparkprof_options "$action")" -- "$cur")
    else
        local offers=
        ((cword == 1)) && offers="collect start stop dump resume status metrics list ps stack report diff version"
        if [[ $action == report || $action == diff ]]; then
            _filedir
        elif [[ $action != ps && $action != version ]]; then
            offers+=" executors"
            _sparkprof_targets "$1"
        fi
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$offers" -- "$cur" | sort -u)
    fi
    __ltrim_colon_completions "$cur"
} &&
    complete -F _sparkprof sparkprof
