"""Programs of every day that run none of the words that they are given, as tables for deny lists.

A program that is not here, and in no table of those that run others, may run what it is given. So a
name that is missing here only matters where a word behind it is a denied command (`foo rm x`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentfence.core.constraints.command_launchers import INSIDE, INSIDE_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Sequence

_INTERPRETERS: Final = """
    awk bun clojure deno duckdb ed elixir emacs erl ex expect ftp gawk ghci groovy guile gvim ipython irb
    jshell julia lftp lua luajit mariadb mawk mongo mongosh mysql nawk node nodejs nvim octave osascript
    perl php psql pwsh-preview py pypy python r racket rscript ruby sbcl scala sqlite3 swipl tclsh ts-node
    tsx vi view vim wish
"""
INTERPRETERS: Final = frozenset(_INTERPRETERS.split())
"""Programs that are told what to do in a language of their own."""
DATABASES: Final = frozenset(["duckdb", "mariadb", "mysql", "psql", "sqlite3"])
"""Those among them that are told it in SQL."""
READERS_OF_CODE: Final = frozenset(
    ["python", "pypy", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "tclsh"]
)
"""Those that run what they read where they are given neither code nor a file."""

_SHELL: Final = """
    : [ [[ alias bg bind break cd compgen complete continue declare dirs disown echo exit export false
    fc fg getopts help history jobs let local logout mapfile popd print printf pushd pwd read readarray
    readonly return set setopt shift shopt suspend test times true type typeset ulimit umask unalias
    unset unsetopt wait whence where whereis which
"""
_TEXT_AND_FILES: Final = """
    7z 7za ack ag apropos atom b2sum banner base32 base64 basename bat batcat bzcat bzip2 cal cat chattr
    chgrp chmod chown cksum clear cloc cmp code codium col column comm convert cowsay cp csplit csvcut
    cut dasel date dd df diff diffstat dircolors dirname dos2unix du egrep exa expand expr eza factor
    fallocate ffmpeg ffprobe fgrep figlet file fmt fold fx glow gpg gpg2 grep gron gunzip gzip head
    hexdump hexyl htmlq hyperlink iconv idea identify install join jp jq less link ln locate lolcat look
    ls lsattr lz4 magick markdown md5 md5sum mdls mkdir mkfifo mknod mktemp mlr mogrify mv nano nl
    numfmt od open pandoc pass paste patch pathchk pbcopy pbpaste pdftotext pico pigz plocate pr
    printenv pv qpdf readlink realpath rename reset rev rg ripgrep rm rmdir scc sed seq sha1sum
    sha224sum sha256sum sha384sum sha512sum shasum shred shuf sleep sort split sponge stat strings stty
    subl sum sync tac tail tee textutil tidy tokei tput tr tree truncate tsort tty unexpand uniq
    unix2dos unlink unrar unxz unzip updatedb uuidgen vdir vipe wc whatis wl-copy wl-paste xclip xdg-open
    xmllint xsel xsltproc xxd xz xzcat yes yq zcat zgrep zip zstd
"""
_BUILDING: Final = """
    ansible-galaxy ansible-lint ansible-vault ant ar artisan as autoconf automake bazel bazelisk black
    bower buck buf bundle bundler cabal cargo cc ccache changeset clang clang++ clang-format clang-tidy
    cmake cmake-gui commitlint composer conan conventional-changelog coverage cpack cpp ctags ctest
    cypress dart dotnet doxygen dune esbuild eslint flake8 flutter g++ gcc gem gfortran ghc gmake go
    gofmt goimports golangci-lint gradle gradlew grunt gulp hadolint husky isort jar java javac javadoc
    jest karma kotlinc ktlint latexmk ld ldconfig ldd lein leiningen lerna lint-staged llc lld lualatex
    make mdbook meson mix mkdocs mocha msbuild mvn mvnw mypy nbconvert next ng ninja nm nox np nuxt nx
    nyc objcopy objdump otool ovsx parcel pdflatex phpcs phpstan phpunit pint pip pip3 pipx pkg-config
    playwright pre-commit prettier protoc py.test pyflakes pylint pyright pytest rails rake ranlib
    readelf rebar3 release-it remix rollup rspec rubocop ruff rush rustc rustfmt rustup sbt scons
    semantic-release semgrep shellcheck shfmt size sphinx-build stack standard storybook strip stylelint
    svelte-kit swc swift swiftc swiftlint tailwindcss terser tflint tox tsc tsup turbo twine typedoc
    vite vitest vsce vue wasm-pack webpack xcodebuild xcrun xelatex yamllint zig
"""
_PACKAGES: Final = """
    apk apt apt-cache apt-get apt-key apt-mark aptitude asdf brew choco corepack cpan cpanm dnf dpkg
    dpkg-query easy_install emerge fnm goenv guix jenv luarocks mas n nala nix-channel nix-env nix-store
    nodenv npm nvm opam pacman paru pdm pear pecl pkg pkgutil pnpm poetry port pyenv rbenv rpm scoop sdk
    snap softwareupdate spack tfenv tfswitch tlmgr uv uvx vcpkg venv virtualenv volta winget yarn yay
    yum zypper
"""
_AGENTS: Final = """
    aider amp claude codex copilot cursor-agent gemini goose llm opencode
"""
_VERSIONS: Final = """
    arc bzr cvs darcs fossil gerrit gh git git-lfs gitk gitlab gitleaks glab graphite gt hg hub jj
    lazygit p4 pijul repo sl svn svnadmin tig trufflehog
"""
_SERVICES: Final = """
    ab airflow alembic argocd aws az bcp bq cdk certbot cf chezmoi circleci clickhouse clickhouse-client
    cloudflared consul cqlsh crane createdb createuser ctr curl curlie cypher-shell dagster dbt dig
    django-admin doctl dolt drizzle-kit dropdb dvc eas eb eksctl etcdctl eval-server expo firebase flask
    flux fly flyctl ftpget gcloud gdrive grpcurl gsutil hadoop hcloud hdfs helm helmfile heroku hf host
    http httpie https httpx huggingface-cli hurl influx ipfs istioctl jira juju jupyter k6 k9s kafkacat
    kaggle kcat kind knex kompose ksql kubeadm kubectx kubelet kubens kubeseal kustomize linear linkerd
    linode-cli locust mc mlflow mongodump mongoexport mongoimport mongorestore mysqladmin mysqldump
    netlify newman ngrok notion nslookup oci ollama openssl oras ossutil packer pg_dump pg_dumpall
    pg_isready pg_restore prefect prisma pulumi rabbitmqctl rclone redis-cli restic s3cmd sam sentry-cli
    sequelize serverless siege skaffold skopeo slack sls snowsql sops sqlcmd stern stripe supabase swaks
    tailscale task terraform terragrunt tilt timew todo tofu traceroute typeorm usql vault vegeta vercel
    wandb wg wget wget2 whois wrangler wrk xh zoxide
"""
_SYSTEM: Final = """
    acpi adb afplay apachectl arp arping atop blkid bluetoothctl brctl btop cfdisk chage chfn chpasswd
    chsh cron cryptsetup ddrescue defaults diskutil dmesg dmidecode e2fsck efibootmgr emulator ethtool
    fastboot fdisk findmnt free fsck fuser getconf getent getfacl glances gpasswd groupadd groupdel
    groupmod groups grub-install halt hdiutil hdparm hostname hostnamectl htop hwclock id ifconfig
    ifdown ifup init insmod iostat iotop ip6tables ipconfig iptables iwconfig journalctl kextload kill
    killall last lastlog launchctl locale localectl logger login loginctl logname losetup lpr
    lsb_release lsblk lscpu lshw lsmod lsof lspci lsusb lvcreate lvremove mdadm mdfind mkfs mkswap
    modprobe mount mpstat nc ncat netstat networksetup newgrp nft nginx nmap nmcli notify-send nproc
    parted passwd pfctl pgrep pidof ping ping6 pkill plutil poweroff ps pstree pwdx reboot renice
    resize2fs resolvectl rmmod route sar say screencapture scutil security service setfacl sfdisk
    shutdown simctl ss ssh-add ssh-keygen ssh-keyscan sshd sw_vers swapoff swapon sysctl system_profiler
    systemctl tcpdump telinit telnet timedatectl top tracepath tune2fs udevadm ufw umount uname uptime
    useradd userdel usermod users vgcreate visudo vmstat w wall who whoami wipefs write xrandr xset zfs
    zpool
"""
_WINDOWS: Final = """
    assoc attrib bcdedit certutil chcp chkdsk cipher clip cls comp compact copy copy-item del dir
    diskpart driverquery erase find findstr fl format fsutil ft ftype gc gci gi gpresult gpupdate icacls
    label md measure mklink mode more move msiexec net netsh path pathping pause prompt rd recover reg
    regedit rem ren replace robocopy sc select setx sfc subst systeminfo takeown taskkill tasklist title
    tracert ver vol vssadmin wevtutil xcopy
"""
_HARMLESS: Final = frozenset(" ".join((_SHELL, _TEXT_AND_FILES, _SYSTEM, _WINDOWS, _AGENTS)).split())
_WITH_SUBCOMMANDS: Final = frozenset(" ".join((_BUILDING, _PACKAGES, _VERSIONS, _SERVICES)).split())
_RUNNING: Final = """
    build-env console dlx do enter exec exec-env exec-file run run-command shell spawn ssh unshare watch
"""
_RUNS_THE_REST: Final = frozenset(_RUNNING.split())
"""Subcommands behind which a program that is known may still run what it is given."""
_SUBCOMMANDS: Final = 4
"""How many words they may be among, as in `gcloud compute ssh`."""
# Cmdlets of PowerShell, whose names begin with a verb, but for those that run something.
_is_cmdlet = re.compile(
    r"(?:add|clear|compare|convertfrom|convertto|copy|export|format|get|import|join|measure|move|new|out|read"
    r"|remove|rename|resolve|select|set|sort|split|stop|test|update|write)-[a-z]+"
).fullmatch


def runs_no_words(name: str, words: Sequence[str]) -> bool:
    """Whether a program of this name runs none of the words that it is given, or only as the tables say."""
    if name in _HARMLESS or name in INSIDE_AT_ONCE or _is_cmdlet(name):
        return True
    told = (
        {*INSIDE[name].subcommands, "run"} if name in INSIDE else ()
    )  # `npm run` runs what the project names
    is_known = name in INSIDE or name in _WITH_SUBCOMMANDS
    return is_known and not any(word in _RUNS_THE_REST and word not in told for word in words[:_SUBCOMMANDS])
