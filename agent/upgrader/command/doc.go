// Package command is the upgrade driver that runs a configured command: with the operation as JSON on
// its standard input and in variables FLOTILLA_*, progress as JSON lines on its standard output, and
// its exit code as the result.
//
// Package agentd gives it to the upgrader. Between the agent and the command stands a supervisor, a
// process of its own that the agent's program becomes when Supervise finds itself asked to: it claims
// the operation by creating a file that only one can create, so that a command runs at most once for an
// operation id; it bounds and keeps what the command prints, ends it with all it started when it takes
// too long, and writes down how it ended. So an upgrade goes on while its agent is away, and an agent
// that comes back finds the supervisor by its pid and start time, or its last words. When a supervisor was
// killed, the operation is not known any more once its command ended, and the driver says so.
//
// Exit codes: 0 success; 75, the "try again later" of sysexits, when nothing was changed; any other is
// a failure, told with the last lines of standard error.
package command
