// Package command is the provider of machines that runs configured commands: one that launches the machine
// of a node, one that deletes it, and, where there is one, one that says whether it exists. Each gets what
// it is asked for as JSON on its standard input and in variables FLOTILLA_*, and answers on its standard
// output.
//
//	launch  reads an api.NodeLaunch; prints the name of the node, or an api.LaunchedNode as JSON:
//	        {"node": "pool-7", "providerID": "azure:///…", "labels": {"topology.kubernetes.io/zone": "1"}}
//	delete  reads an api.NodeMachine; prints nothing when the machine is gone, or {"gone": false} when it
//	        is on its way out
//	exists  reads an api.NodeMachine; prints true or false
//
// Exit codes: 0 is an answer; 75, the "try again later" of sysexits, is none yet; any other of launch means
// that there will be no such node, which gives the disruption up, and of the others that they are asked
// again later. The reason is the last lines of standard error.
//
// Package agentd gives it to package nodes. A command that takes too long, or whose agent ends, is told to
// end with all it started and killed when it does not; it is then run again. So each must do for one name,
// FLOTILLA_LAUNCH, what it does once however often it is run: find the machine that was launched before
// instead of launching another, and take back a launch of which only the name is known. Clouds have client
// tokens and tags for that.
package command
