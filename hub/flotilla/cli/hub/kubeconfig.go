package hub

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	clientauth "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	kubeconfig "k8s.io/client-go/tools/clientcmd/api/v1"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

func (a commands) kubeconfigCommand() *cobra.Command {
	var static bool
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print a kubeconfig with which kubectl and other programs work on the fleet",
		Long: `Print a kubeconfig with which kubectl and other programs work on the fleet, under your name and with your role. It holds
no secret: programs have this one print tokens, with the connection that it has now, which is named with full paths.

With --static it holds a token instead, for an hour, for where this program or its credentials are not: keep it to
yourself.`,
		Example: `  flotilla kubeconfig > fleet.kubeconfig
  kubectl --kubeconfig fleet.kubeconfig get clusterresourceplacements`,
		Args: session.NoArgs,
		RunE: a.Do(func(ctx context.Context, _ []string) error { return a.kubeconfig(ctx, static) }),
	}
	cmd.Flags().BoolVar(&static, "static", false, "with a token instead of what prints one")
	return cmd
}

func (a commands) kubeconfig(ctx context.Context, static bool) error {
	given, err := a.askToken(ctx)
	if err != nil {
		return err
	}
	program, err := a.Program()
	if err != nil {
		return err
	}
	user := kubeconfig.AuthInfo{Token: given.Token}
	switch passing := ofGoRun(program); {
	case passing && !static:
		a.Note("it holds a token until %s: `go run` keeps no program that could print others", given.Ends.UTC().Format(time.RFC3339))
	case static:
		a.Note("it holds a token until %s", given.Ends.UTC().Format(time.RFC3339))
	default:
		if user, err = a.printsTokens(program); err != nil {
			return err
		}
	}
	return (&printers.YAMLPrinter{}).PrintObj(kubeconfigOf("flotilla-"+a.Fleet(), given, user), a.Out)
}

// ofGoRun says that a program lies where `go run` builds it, and is removed from there when it ends or later.
func ofGoRun(program string) bool {
	for dir := range strings.SplitSeq(filepath.ToSlash(program), "/") {
		if strings.HasPrefix(dir, "go-build") {
			return true
		}
	}
	return false
}

// kubeconfigOf is a kubeconfig in which everything has one name.
func kubeconfigOf(name string, given *api.TokenResponse, user kubeconfig.AuthInfo) *kubeconfig.Config {
	return &kubeconfig.Config{
		Kind: "Config", APIVersion: kubeconfig.SchemeGroupVersion.String(), CurrentContext: name,
		Clusters:  []kubeconfig.NamedCluster{{Name: name, Cluster: kubeconfig.Cluster{Server: given.Server, CertificateAuthorityData: given.CA}}},
		AuthInfos: []kubeconfig.NamedAuthInfo{{Name: name, AuthInfo: user}},
		Contexts:  []kubeconfig.NamedContext{{Name: name, Context: kubeconfig.Context{Cluster: name, AuthInfo: name}}},
	}
}

// printsTokens is a user for whom a program is run that prints tokens.
func (a commands) printsTokens(program string) (user kubeconfig.AuthInfo, err error) {
	variables, err := a.Variables()
	if err != nil {
		return user, err
	}
	run := &kubeconfig.ExecConfig{
		APIVersion: clientauth.SchemeGroupVersion.String(), InteractiveMode: kubeconfig.NeverExecInteractiveMode,
		Command: program, Args: []string{"token", "--output", credentialFormat},
		InstallHint: "The command line of Flotilla prints tokens for this cluster. Have it at the path above, or change that path.",
	}
	for _, v := range variables {
		if v.Name == "NATS_URL" && strings.HasPrefix(a.ReachedAt(), "tls://") {
			v.Value = api.OverTLS(v.Value)
		}
		run.Env = append(run.Env, kubeconfig.ExecEnvVar{Name: v.Name, Value: v.Value})
	}
	return kubeconfig.AuthInfo{Exec: run}, nil
}
