// Kubelab is a control plane in one file: kube-apiserver, kube-controller-manager, kube-scheduler, etcd and kubectl.
// Which of them it is, the name says under which it was started, or else its first argument.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // zones of CronJobs

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // ways in, of kubectl
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // logs as JSON
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the components' clients
	_ "k8s.io/component-base/metrics/prometheus/version"  // the metric that says which version runs
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"flotilla/tests/e2e/kube/leash"
)

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          component(apiserver.NewAPIServerCommand),
	"kube-controller-manager": component(controllers.NewControllerManagerCommand),
	"kube-scheduler":          component(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl":                 func() { util.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand())) },
}

func component(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

func main() {
	leash.Hold()
	name := filepath.Base(os.Args[0])
	run, found := programs[name]
	if !found && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
		run, found = programs[name]
	}
	if !found {
		fmt.Fprintf(os.Stderr, "found %q, expected one of %s\n", name, strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
		os.Exit(2)
	}
	run()
}
