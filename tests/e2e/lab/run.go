package lab

// leashedShell runs a program that knows nothing of a leash: its process group ends when standard input does.
const leashedShell = `exec 3<&0; (cat <&3 >/dev/null; kill -9 0) & "$@" </dev/null; exit $?`

// Run starts another program beside the clusters. It ends as they do, and logs as they do, under a name.
func (l *Lab) Run(name, path string, args ...string) error {
	_, err := l.run(name, "sh", append([]string{"-c", leashedShell, name, path}, args...)...)
	return err
}
