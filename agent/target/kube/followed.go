package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/apply"
)

// keyOrder of the mark is the order of the newest command that an agent acted on.
const keyOrder = "order"

// followTries is how often an order is written while others write the mark too.
const followTries = 3

// Follow writes an order on the mark of the cluster. A cluster without a mark, which agents of several fleets share, remembers none.
func (t *Target) Follow(ctx context.Context, order api.Order) (newest api.Order, err error) {
	if t.mark == nil {
		return order, nil
	}
	if err := t.mark.settle(ctx); err != nil {
		return api.Order{}, err
	}
	return t.mark.follow(ctx, order)
}

// follow writes an order on the mark as it was last seen, where that has an older one, and looks at the mark anew where it changed since.
func (m *mark) follow(ctx context.Context, order api.Order) (newest api.Order, err error) {
	if newest, err := m.follows(); err != nil || newest.Compare(order) >= 0 {
		m.trust(newest, order)
		return newest, err
	}
	if err := m.enter(ctx); err != nil {
		return api.Order{}, err
	}
	defer m.leave()
	ctx, cancel := context.WithTimeout(ctx, markPatience)
	defer cancel()
	for range followTries {
		if newest, err = m.follows(); err != nil || newest.Compare(order) >= 0 {
			return newest, err
		}
		err = m.write(ctx, order)
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			break
		}
		m.note(m.compared(ctx))
		if refused := m.verdict(); refused != nil {
			return api.Order{}, refused
		}
	}
	if err != nil {
		return api.Order{}, fmt.Errorf("writing on the cluster which command it follows: %w", err)
	}
	return order, nil
}

// write puts an order on the mark as it was last seen.
func (m *mark) write(ctx context.Context, order api.Order) error {
	next := m.last().DeepCopy()
	next.Data[keyOrder] = order.String()
	written, err := m.client.ConfigMaps(SystemNamespace).Update(ctx, next, metav1.UpdateOptions{FieldManager: apply.FieldManager})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen, m.own = written, order
	return nil
}

// trust notes that the order of the mark is the one that this agent knows: where somebody removes the mark it is made anew with that.
func (m *mark) trust(newest, order api.Order) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if newest == order {
		m.own = order
	}
}

// follows is the order that the mark had when it was last seen, zero when it had none.
func (m *mark) follows() (api.Order, error) {
	text := m.last().Data[keyOrder]
	if text == "" {
		return api.Order{}, nil
	}
	order, err := api.ParseOrder(text)
	if err != nil {
		return api.Order{}, fmt.Errorf("ConfigMap %s/%s, data.%s: %w; nothing is written before it is one: kubectl -n %s delete configmap %s has the agent go by what it knows",
			SystemNamespace, markName, keyOrder, err, SystemNamespace, markName)
	}
	return order, nil
}

// last is the mark as it was last seen. It must not be changed.
func (m *mark) last() *corev1.ConfigMap {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// keep notes the mark as it is.
func (m *mark) keep(found *corev1.ConfigMap) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = found
}
