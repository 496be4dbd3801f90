package pod

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// patience is how long the API server may take for one answer.
const patience = 10 * time.Second

// Secret is a Secret in the namespace of the pod, as a vault: each text is one of its values.
type Secret struct {
	client          typedcorev1.SecretInterface
	namespace, name string
}

// Secret is the one of that name, which need not be there: it is made when it is first written to.
func (p *Pod) Secret(name string) (*Secret, error) {
	clients, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		return nil, fmt.Errorf("speaking to %s: %w", p.config.Host, err)
	}
	return newSecret(clients, p.Namespace, name), nil
}

func newSecret(clients kubernetes.Interface, namespace, name string) *Secret {
	return &Secret{client: clients.CoreV1().Secrets(namespace), namespace: namespace, name: name}
}

// String is "Secret flotilla-system/flotilla-agent".
func (s *Secret) String() string { return "Secret " + s.namespace + "/" + s.name }

// Read reads one value.
func (s *Secret) Read(name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	found, err := s.client.Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.explained(err)
	}
	return found.Data[name], nil
}

// Write sets one value.
func (s *Secret) Write(name string, text []byte) error {
	return s.change(true, func(values map[string][]byte) { values[name] = text })
}

// Remove takes one value out.
func (s *Secret) Remove(name string) error {
	return s.change(false, func(values map[string][]byte) { delete(values, name) })
}

// change writes what f makes of the values, again when somebody else wrote meanwhile. A Secret that is missing is made
// where that is wanted.
func (s *Secret) change(create bool, f func(map[string][]byte)) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err := s.client.Get(ctx, s.name, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		switch {
		case missing && !create:
			return nil
		case missing:
			found = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: s.namespace}}
		case err != nil:
			return err
		}
		if found.Data == nil {
			found.Data = map[string][]byte{}
		}
		f(found.Data)
		if missing {
			_, err = s.client.Create(ctx, found, metav1.CreateOptions{})
		} else {
			_, err = s.client.Update(ctx, found, metav1.UpdateOptions{})
		}
		return err
	})
	return s.explained(err)
}

// explained says what an agent that may not use its Secret is to be allowed.
func (s *Secret) explained(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: let the agent get and update that Secret, and make it, empty, or let the agent create Secrets; configs/kubernetes does", err)
	}
	return err
}
