package front

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/front/turns"
)

// reasons are those of Kubernetes for codes of the door.
var reasons = map[string]struct {
	code   int32
	reason metav1.StatusReason
}{
	api.CodeInvalid:      {http.StatusUnprocessableEntity, metav1.StatusReasonInvalid},
	api.CodeRefused:      {http.StatusForbidden, metav1.StatusReasonForbidden},
	api.CodeNotFound:     {http.StatusNotFound, metav1.StatusReasonNotFound},
	api.CodeConflict:     {http.StatusConflict, metav1.StatusReasonConflict},
	api.CodePrecondition: {http.StatusConflict, metav1.StatusReasonConflict},
	api.CodeTooLarge:     {http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge},
	api.CodeLimit:        {http.StatusForbidden, metav1.StatusReasonForbidden},
	api.CodeUnavailable:  {http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable},
	api.CodeNoEntry:      {http.StatusUnauthorized, metav1.StatusReasonUnauthorized},
	api.CodeNoRoom:       {http.StatusInsufficientStorage, metav1.StatusReasonInternalError},
}

// translated is what the door says as Kubernetes says it, with each fault as a cause.
func (k *kind) translated(err error, name string) error {
	failure, is := errors.AsType[*api.Failure](err)
	if !is {
		return err
	}
	as, known := reasons[failure.Code]
	if !known {
		as.code, as.reason = http.StatusInternalServerError, metav1.StatusReasonInternalError
	}
	details := &metav1.StatusDetails{Group: k.Group, Kind: k.resource, Name: name}
	if as.reason == metav1.StatusReasonInvalid {
		details.Kind = k.Kind
	}
	for _, fault := range failure.Faults {
		path := fault.Path
		fault.Object, fault.Path = "", "" // clients show the object and the path beside it
		details.Causes = append(details.Causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: path, Message: fault.String()})
	}
	if as.reason == metav1.StatusReasonServiceUnavailable {
		details.RetryAfterSeconds = turns.RetryAfter
	}
	message := failure.Error()
	if failure.Next != "" {
		message += "\ntry: " + failure.Next
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: as.code, Reason: as.reason, Message: message, Details: details,
	}}
}

func failedWith(err error, code string) bool {
	failure, is := errors.AsType[*api.Failure](err)
	return is && failure.Code == code
}
