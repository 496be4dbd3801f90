package disruption

import "fmt"

// Code tells the kinds of refusals apart.
type Code string

// Why a node is not a candidate, or is one that no method takes.
const (
	CodeQueued         Code = "Queued"
	CodeUndoing        Code = "Undoing"
	CodeUnmanaged      Code = "Unmanaged"
	CodeNotInitialized Code = "NotInitialized"
	CodeDeleting       Code = "Deleting"
	CodeNominated      Code = "Nominated"
	CodeNodeProtected  Code = "DoNotDisruptNode"
	CodePoolProtected  Code = "DoNotDisruptPool"
	CodeNoPool         Code = "NoNodePool"
	CodePoolUnknown    Code = "NodePoolUnknown"
	CodeBackoff        Code = "BackedOff"
	CodePodProtected   Code = "DoNotDisruptPod"
	CodePDB            Code = "PDBBlocks"
	CodePDBOverlap     Code = "PDBsOverlap"
	CodePDBExceeded    Code = "PDBExceeded"
	CodeStatic         Code = "StaticPool"
	CodeDisabled       Code = "ConsolidationDisabled"
	CodeNotEmpty       Code = "NotEmpty"
	CodeEmpty          Code = "Empty"
	CodeQuiet          Code = "ConsolidateAfter"
	CodeTypeUnknown    Code = "InstanceTypeUnknown"
	CodeNoLabel        Code = "LabelMissing"
	CodeNotInCatalog   Code = "NotInCatalog"
	CodeNotDrifted     Code = "NotDrifted"
	CodeNotExpired     Code = "NotExpired"
	CodeBudget         Code = "BudgetSpent"
	CodePodsUnplaced   Code = "PodsWouldNotFit"
	// CodePendingPodNeedsIt is a node without which a pod that waits for one finds no place (N23).
	CodePendingPodNeedsIt Code = "PendingPodNeedsIt"
	CodeManyReplacements  Code = "SeveralReplacements"
	CodeNotCheaper        Code = "NotCheaper"
	CodeMinValues         Code = "MinValues"
	CodeSpotDisabled      Code = "SpotToSpotDisabled"
	CodeSpotFew           Code = "SpotToSpotFewTypes"
	CodeScore             Code = "BalancedScore"
	CodeStale             Code = "StateTooOld"
	CodeTangled           Code = "TooManyTerms"
	CodeNotReached        Code = "NotReached"
)

// Refusal is one reason why a method leaves a node alone.
type Refusal struct {
	Method  string `json:"method,omitempty"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// About is the pod or budget in the way, when there is one.
	About string `json:"about,omitempty"`
}

// String is the message with its code.
func (r Refusal) String() string { return fmt.Sprintf("%s: %s", r.Code, r.Message) }

// aboutDrift reports a refusal that keeps a drifted node for now.
func (r Refusal) aboutDrift() bool {
	return (r.Method == MethodDrift || r.Method == MethodStaticDrift) && r.Code != CodeNotDrifted && r.Code != CodeStatic
}

// Event returns the reason of the event that Karpenter would emit: DisruptionBlocked for a node that
// is no candidate, Unconsolidatable for one that consolidation leaves, "" for none.
func (r Refusal) Event() string {
	switch r.Code {
	case CodeNotInitialized, CodeDeleting, CodeNominated, CodeNodeProtected, CodePoolProtected, CodeNoPool, CodePoolUnknown, CodePodProtected, CodePDB, CodePDBOverlap, CodePDBExceeded, CodeTangled:
		return "DisruptionBlocked"
	case CodePodsUnplaced:
		if r.Method == MethodDrift || r.Method == MethodExpired {
			return "DisruptionBlocked"
		}
		return "Unconsolidatable"
	case CodeDisabled, CodeTypeUnknown, CodeNoLabel, CodeNotInCatalog, CodeManyReplacements, CodeNotCheaper, CodeMinValues, CodeSpotDisabled, CodeSpotFew:
		return "Unconsolidatable"
	case CodeNotEmpty:
		return "Unconsolidatable"
	default:
		return ""
	}
}
