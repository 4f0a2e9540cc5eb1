"""Programs that run others, as tables: what stands before the command, and which options hold one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.command_options import options
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.command_options import Options

_PLAIN = (
    "-", "nohup", "builtin", "busybox", "toybox", "unbuffer", "noglob", "nocorrect", "not", "and", "or",
    "chronic", "dbus-run-session", "call", "eatmydata", "torsocks", "torify", "saps", "cross-env",
)  # fmt: skip
PREFIXES: Mapping[str, Options] = {
    "env": options("-i0vu:C:", "ignore-environment null debug unset= chdir="),
    "sudo": options(
        "AbEHknPSiC:D:g:h:p:R:T:u:", "preserve-env login non-interactive set-home user= group= chdir="
    ),
    "doas": options("Lnu:C:"),
    "timeout": options("vk:s:", "foreground preserve-status verbose kill-after= signal=", operands=1),
    "nice": options("0123456789n:", "adjustment="),
    "ionice": options("tc:n:", "ignore class= classdata="),
    "stdbuf": options("i:o:e:", "input= output= error="),
    "setsid": options("cfw", "ctty fork wait"),
    "time": options("apvqlhf:o:", "append portability verbose quiet format= output="),
    "flock": options("exnouFsw:E:", "shared exclusive nonblock unlock close wait= timeout=", operands=1),
    "chroot": options("", "userspec= groups= skip-chdir", operands=1),
    "xargs": options(
        "0rtxopI:L:n:P:s:d:E:a:",
        "null no-run-if-empty verbose exit interactive max-args= max-procs= max-lines= max-chars= delimiter= "
        "arg-file= replace= eof=",
    ),
    "command": options("pvV"),
    "exec": options("cla:"),
    "repeat": options(operands=1),
    "parallel": options(
        "0ktuvXmqj:P:I:a:n:N:L:d:C:S:", "keep-order dry-run jobs= delay= arg-file= max-args= colsep= joblog="
    ),
    "pkexec": options("", "disable-internal-agent keep-cwd user="),
    "fakeroot": options("l:s:i:b:u"),
    "caffeinate": options("dimsut:w:"),
    "taskset": options("ac", "all-tasks cpu-list", operands=1),
    "chrt": options("bdfiorRT:P:D:", "batch fifo idle other rr reset-on-fork", operands=1),
    "unshare": options("imnpuUCTfrc", "mount net pid user fork map-root-user mount-proc"),
    "strace": options(
        "CcdDfFhiknqrtTvVwxyYzZa:b:e:E:I:o:O:p:P:s:S:u:U:X:", "follow-forks trace= output= string-limit="
    ),
    "ltrace": options("bcfhiLrStTVe:o:l:n:p:s:u:x:a:A:D:F:"),
    "valgrind": options("qvh", "tool= leak-check= track-origins= show-leak-kinds= error-exitcode= log-file="),
    "systemd-run": options(
        "dGPqStrM:p:u:E:", "user system scope wait pipe pty unit= slice= property= setenv="
    ),
    "ifne": options("n"),
    "wsl": options("led:u:v", "list status shutdown version exec distribution= user= cd="),
    "nsenter": options(
        "aCcFmuinpUTZt:r::w::S:G:W:",
        "all mount uts ipc net pid cgroup user time no-fork preserve-credentials target= setuid= setgid= "
        "root wd",
    ),
    "setpriv": options(
        "",
        "clear-groups keep-groups init-groups no-new-privs reset-env reuid= regid= ruid= rgid= euid= egid= "
        "groups= inh-caps= ambient-caps= bounding-set= securebits= pdeathsig= selinux-label=",
    ),
    "numactl": options(
        "aHsbN:C:i:m:l", "all localalloc cpunodebind= physcpubind= interleave= membind= preferred="
    ),
    "proxychains": options("qf:"),
    "proxychains4": options("qf:"),
    "faketime": options("mf", operands=1),
    "sshpass": options("ve:p:f:d:P:"),
    "entr": options("acdnprsxz"),
    "setarch": options(
        "BFILRSTXZ3v",
        "32bit fdpic-funcptrs short-inode addr-compat-layout addr-no-randomize whole-seconds "
        "sticky-timeouts read-implies-exec mmap-page-zero 3gb 4gb uname-2.6 verbose",
    ),
    **dict.fromkeys(("linux32", "linux64", "i386", "x86_64"), options("BFILRSTXZ3v", "addr-no-randomize")),
    "prlimit": options(
        "c:d:e:f:i:l:m:n:q:r:s:t:u:v:x:y:",
        "core data nice fsize sigpending memlock rss nofile msgqueue rtprio stack cpu nproc as locks rttime",
    ),
    "choom": options("n:p:", "adjust= pid="),
    "uclampset": options("asRm:M:p:"),
    **dict.fromkeys(_PLAIN, options()),
}
GNU = frozenset(
    ["env", "timeout", "nice", "stdbuf", "xargs", "find", "chroot", "nohup", "time", "tar", "sort"]
)
"""Programs that have a `g` before their names where others have theirs."""

OPTION_SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "su": ("-c", "--command"),
    "runuser": ("-c", "--command"),
    "script": ("-c", "--command"),
    "capsh": ("-c",),
    "fish": ("-C", "--init-command"),
    "tar": (
        "-I", "-F", "--to-c(ommand", "--use-c(ompress-program", "--rsh-c(ommand", "--checkpoint-a(ction",
        "--info-s(cript", "--new-v(olume-script", "--rmt-c(ommand",
    ),
    "cpio": ("--rsh-c(ommand", "--rmt-c(ommand"),
    "zip": ("-TT", "--unzip-c(ommand"),
    "rsync": ("-e", "--rsh", "--rsync-p(ath"),
    "scp": ("-S",),
    "sftp": ("-S",),
    "mosh": ("--ssh", "--server"),
    "sort": ("--compress-p(rogram",),
    "split": ("--fil(ter",),
    "sdiff": ("--diff-p(rogram",),
    "diff3": ("--diff-p(rogram",),
    "rg": ("--pre", "--hostname-bin"),
    "fzf": ("--preview",),
    "man": ("-P", "-H", "--pag(er", "--ht(ml"),
    "wget": ("--use-a(skpass",),
    "pandoc": ("-F", "--filter"),
    "tcpdump": ("-z",),
    "nc": ("-e", "-c"),
    "ncat": ("-e", "-c", "--exec", "--sh-exec"),
    "socat": ("exec:", "system:", "shell:"),
    "svn": ("--diff-cmd", "--diff3-cmd", "--editor-cmd"),
    "git": (
        "--exe(c", "--exec-path", "--ext(cmd", "--upl(oad-pack", "--rec(eive-pack", "--open(-files-in-pager",
        "--env-filter", "--tree-filter", "--index-filter", "--parent-filter", "--msg-filter",
        "--commit-filter", "--tag-name-filter", "--sendmail-c(md", "--smtp-server", "--to-c(md", "--cc-c(md",
        "--header-c(md", "--access-hook", "--httpd", "--browser",
    ),
    "go": ("-exec", "-toolexec", "-vettool"),
    "java": ("-xx:onerror=", "-xx:onoutofmemoryerror="),
    "make": ("shell=", "--ev(al"),
    "nix-shell": ("--run", "--command"),
    "npx": ("-c", "--call"),
    "npm": ("-c", "--call", "--script-shell"),
    "vagrant": ("-c", "--command"),
    "hash": ("-p",),
    "mapfile": ("-C",),
    "readarray": ("-C",),
    "complete": ("-C",),
    "compgen": ("-C",),
    "bind": ("-x",),
    "start-stop-daemon": ("-x", "-a", "--exec", "--startas"),
    "forfiles": ("/c",),
    "schtasks": ("/tr",),
}  # fmt: skip
"""The options whose values are commands; a `(` stands where an abbreviation may end, and what ends in `=` or
`:` is the beginning of a word, in small letters."""
VALUED_LETTERS: Mapping[str, str] = {"tar": "bCfFgHIKLNTVX", "rsync": "BefMT", "man": "CdEeHLMmPpRrST"}
"""The letters behind which the rest of a word is a value, as `-aessh` of rsync."""
TERMINALS = frozenset(["xterm", "gnome-terminal", "konsole", "alacritty", "kitty", "x-terminal-emulator"])


@frozen
class Inside:
    """A program that runs commands in a place of its own, such as a container, and how it is told to."""

    options: Options
    subcommands: Mapping[str, Options | Inside]
    is_dashed: bool = False
    """Whether `--` stands before the command, with options before and behind what is named first."""


_EXEC = options(
    "ditTe:u:w:",
    "detach interactive privileged tty no-tty no-TTY detach-keys= env= env-file= user= workdir= index=",
    operands=1,
)
_RUN = options(
    "dqitTPa:c:e:h:l:m:p:u:v:w:",
    "detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged "
    "publish-all quiet read-only rm sig-proxy tty no-tty no-TTY no-deps service-ports use-aliases build "
    "remove-orphans replace name= add-host= annotation= attach= blkio-weight= cap-add= cap-drop= cgroup- "
    "parent= cgroupns= cidfile= cpu-period= cpu-quota= cpu-shares= cpus= cpuset-cpus= cpuset-mems= "
    "detach-keys= device= dns= dns-option= dns-search= domainname= entrypoint= env= env-file= expose= "
    "gpus= group-add= health-cmd= health-interval= health-retries= health-start-period= health-timeout= "
    "hostname= ip= ip6= ipc= isolation= label= label-file= link= log-driver= log-opt= mac-address= "
    "memory= memory-reservation= memory-swap= mount= net= network= network-alias= oom-score-adj= pid= "
    "pids-limit= platform= publish= pull= restart= runtime= security-opt= shm-size= stop-signal= stop- "
    "timeout= storage-opt= sysctl= tmpfs= ulimit= user= userns= uts= volume= volume-driver= volumes-from= "
    "workdir=",
    operands=1,
)
_COMPOSE = Inside(
    options(
        "f:p:",
        "all-resources compatibility dry-run ansi= env-file= file= parallel= profile= progress= "
        "project-directory= project-name=",
    ),
    {"exec": _EXEC, "run": _RUN},
)
_CONTAINER = {"exec": _EXEC, "run": _RUN, "create": _RUN}
_DOCKER = Inside(
    options("DvH:c:l:", "debug tls tlsverify config= context= host= log-level= tlscacert= tlscert= tlskey="),
    {**_CONTAINER, "container": Inside(options(), _CONTAINER), "compose": _COMPOSE},
)
_POD = options(
    "itqc:n:f:", "stdin tty quiet container= namespace= filename= context= kubeconfig=", operands=1
)
_KUBECTL = Inside(
    options("n:s:v:", "namespace= context= cluster= user= kubeconfig= server= token= as= request-timeout="),
    {"exec": _POD, "run": _POD, "debug": _POD, "rsh": _POD},
    is_dashed=True,
)
_ONE = options(operands=1)
_ANY = options()


def _runner(*subcommands: str, operands: int = 0, is_dashed: bool = False) -> Inside:
    return Inside(_ANY, dict.fromkeys(subcommands, options(operands=operands)), is_dashed)


_CONTAINED = _runner("exec", operands=1, is_dashed=True)
_ENVIRONMENT = _runner("run", "exec")
_DASHED = _runner("run", "exec", "x", is_dashed=True)
_UV_RUN = options(
    "qvnm:p:w:", "quiet verbose isolated locked frozen no-sync no-project with= extra= group= python="
)
_TMUX_WINDOW = options("AbdDEfhIPvXZc:e:F:l:n:p:s:t:x:y:")
INSIDE: Mapping[str, Inside] = {
    **dict.fromkeys(("docker", "podman", "nerdctl"), _DOCKER),
    **dict.fromkeys(("docker-compose", "podman-compose"), _COMPOSE),
    **dict.fromkeys(("kubectl", "oc"), _KUBECTL),
    **dict.fromkeys(("k3s", "microk8s", "minikube"), Inside(_ANY, {"kubectl": _KUBECTL})),
    **dict.fromkeys(("lxc", "incus", "multipass", "aws-vault"), _CONTAINED),
    **dict.fromkeys(("op", "doppler", "mise", "nix"), _DASHED),
    "npm": _runner("exec", "x", is_dashed=True),
    **dict.fromkeys(("poetry", "pipenv", "hatch", "rye", "pdm"), _ENVIRONMENT),
    "bun": _runner("run", "x", "exec"),
    "pnpm": _runner("exec", "dlx"),
    "yarn": Inside(
        _ANY,
        {
            "exec": _ANY,
            "dlx": _ANY,
            "workspace": _ONE,
            "workspaces": Inside(_ANY, {"foreach": _ANY}),
        },
    ),
    **dict.fromkeys(("bundle", "rbenv", "pyenv", "asdf", "opam"), _runner("exec")),
    **dict.fromkeys(
        ("conda", "mamba", "micromamba"),
        Inside(_ANY, {"run": options("n:p:", "name= prefix= no-capture-output live-stream")}),
    ),
    **dict.fromkeys(("apptainer", "singularity", "crictl", "direnv"), Inside(_ANY, {"exec": _ONE})),
    "uv": Inside(_ANY, {"run": _UV_RUN}),
    "cmake": Inside(options("E"), {"time": _ANY, "chdir": _ONE, "env": _ANY}),
    "ip": Inside(_ANY, {"netns": Inside(_ANY, {"exec": _ONE}), "vrf": Inside(_ANY, {"exec": _ONE})}),
    "tmux": Inside(
        options("2CDluvVNL:S:f:c:T:"),
        {
            **dict.fromkeys(
                (
                    "new", "new-session", "neww", "new-window", "splitw", "split-window", "respawn-pane",
                    "respawn-window", "run", "run-shell", "if", "if-shell", "pipep", "pipe-pane", "popup",
                    "display-popup",
                ),
                _TMUX_WINDOW,
            ),
            **dict.fromkeys(("send", "send-keys"), options("FHKlMRXN:c:t:")),
        },
    ),
}  # fmt: skip
INSIDE_AT_ONCE: Mapping[str, Options] = {
    "firejail": _ANY,
    "proot": options("0r:R:S:b:m:w:q:k:v:"),
    "screen": options("dmDRxrUaAiLlqOvwS:c:e:h:p:s:t:T:X:"),
    "mosh": _ONE,
    "start-process": _ANY,
    "dotenv": options("f:e:v:"),
    **dict.fromkeys(("npx", "bunx", "pnpx", "uvx"), options("yqp:c:", "yes no quiet package= from= with=")),
}
"""The same without a subcommand; many of their options are not listed."""
