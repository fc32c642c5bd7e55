package libvirt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// The RPC client allocates as many elements as an answer announces, before it reads them: 284 bytes that announce 2³¹
// statistics take 128 GiB. So walk follows each answer along the type that the client will decode, and hands it on only
// if all that it announces is there. What is decoded is then at most five times as long as the answer.

// procedure is one call of one of the daemon's programs.
type procedure struct{ program, number uint32 }

// described is an answer, or an event, by what the RPC client decodes it into.
type described struct {
	name string
	into reflect.Type // nil where it decodes nothing
}

func as[T any](name string) described { return described{name, reflect.TypeFor[T]()} }

// calls are those that the adapter makes by the RPC client, with their answers. The client refuses to send any other.
var calls = map[procedure]described{
	{remoteProgram, procConnectOpen}: {name: "ConnectOpen"},
	{remoteProgram, 9}:               {name: "DomainCreate"},
	{remoteProgram, 12}:              {name: "DomainDestroy"},
	{remoteProgram, 14}:              as[golibvirt.DomainGetXMLDescRet]("DomainGetXMLDesc"),
	{remoteProgram, 16}:              as[golibvirt.DomainGetInfoRet]("DomainGetInfo"),
	{remoteProgram, 7}:               as[golibvirt.ConnectGetCapabilitiesRet]("ConnectGetCapabilities"),
	{remoteProgram, 23}:              as[golibvirt.DomainLookupByNameRet]("DomainLookupByName"),
	{remoteProgram, 24}:              as[golibvirt.DomainLookupByUUIDRet]("DomainLookupByUUID"),
	{remoteProgram, 27}:              {name: "DomainReboot"},
	{remoteProgram, 28}:              {name: "DomainResume"},
	{remoteProgram, 46}:              as[golibvirt.NetworkLookupByNameRet]("NetworkLookupByName"),
	{remoteProgram, procAuthList}:    as[golibvirt.AuthListRet]("AuthList"),
	{remoteProgram, procAuthPolkit}:  as[golibvirt.AuthPolkitRet]("AuthPolkit"),
	{remoteProgram, 76}:              as[golibvirt.StoragePoolCreateXMLRet]("StoragePoolCreateXML"),
	{remoteProgram, 83}:              {name: "StoragePoolRefresh"},
	{remoteProgram, 87}:              as[golibvirt.StoragePoolGetInfoRet]("StoragePoolGetInfo"),
	{remoteProgram, 93}:              as[golibvirt.StorageVolCreateXMLRet]("StorageVolCreateXML"),
	{remoteProgram, 94}:              {name: "StorageVolDelete"},
	{remoteProgram, 95}:              as[golibvirt.StorageVolLookupByNameRet]("StorageVolLookupByName"),
	{remoteProgram, 98}:              as[golibvirt.StorageVolGetInfoRet]("StorageVolGetInfo"),
	{remoteProgram, 99}:              as[golibvirt.StorageVolGetXMLDescRet]("StorageVolGetXMLDesc"),
	{remoteProgram, 125}:             as[golibvirt.StorageVolCreateXMLFromRet]("StorageVolCreateXMLFrom"),
	{remoteProgram, 150}:             as[golibvirt.DomainIsActiveRet]("DomainIsActive"),
	{remoteProgram, 151}:             as[golibvirt.DomainIsPersistentRet]("DomainIsPersistent"),
	{remoteProgram, 152}:             as[golibvirt.NetworkIsActiveRet]("NetworkIsActive"),
	{remoteProgram, 157}:             as[golibvirt.ConnectGetLibVersionRet]("ConnectGetLibVersion"),
	{remoteProgram, 160}:             {name: "DomainAttachDeviceFlags"},
	{remoteProgram, 161}:             {name: "DomainDetachDeviceFlags"},
	{remoteProgram, 199}:             {name: "DomainSetVcpusFlags"},
	{remoteProgram, 204}:             {name: "DomainSetMemoryFlags"},
	{remoteProgram, 212}:             as[golibvirt.DomainGetStateRet]("DomainGetState"),
	{remoteProgram, 231}:             {name: "DomainUndefineFlags"},
	{remoteProgram, 245}:             {name: "DomainReset"},
	{remoteProgram, 264}:             {name: "DomainSetMetadata"},
	{remoteProgram, 265}:             as[golibvirt.DomainGetMetadataRet]("DomainGetMetadata"),
	{remoteProgram, 267}:             {name: "DomainPmWakeup"},
	{remoteProgram, 273}:             as[golibvirt.ConnectListAllDomainsRet]("ConnectListAllDomains"),
	{remoteProgram, 282}:             as[golibvirt.StoragePoolListAllVolumesRet]("StoragePoolListAllVolumes"),
	{remoteProgram, 298}:             as[golibvirt.DomainGetJobStatsRet]("DomainGetJobStats"),
	{remoteProgram,
		316}: as[golibvirt.ConnectDomainEventCallbackRegisterAnyRet]("ConnectDomainEventCallbackRegisterAny"),
	{remoteProgram, 317}: {name: "ConnectDomainEventCallbackDeregisterAny"},
	{remoteProgram, 341}: as[golibvirt.NetworkGetDhcpLeasesRet]("NetworkGetDhcpLeases"),
	{remoteProgram, 344}: as[golibvirt.ConnectGetAllDomainStatsRet]("ConnectGetAllDomainStats"),
	{remoteProgram, 350}: as[golibvirt.DomainDefineXMLFlagsRet]("DomainDefineXMLFlags"),
	{remoteProgram, 358}: as[golibvirt.DomainRenameRet]("DomainRename"),
	{remoteProgram, 378}: as[golibvirt.StorageVolGetInfoFlagsRet]("StorageVolGetInfoFlags"),
	{remoteProgram, 391}: as[golibvirt.StoragePoolLookupByTargetPathRet]("StoragePoolLookupByTargetPath"),
	{remoteProgram, 421}: {name: "DomainBackupBegin"},
	{remoteProgram, 422}: as[golibvirt.DomainBackupGetXMLDescRet]("DomainBackupGetXMLDesc"),
	{qemuProgram, 3}:     as[golibvirt.QEMUDomainAgentCommandRet]("QEMUDomainAgentCommand"),
}

// events are those of eventKinds.
var events = map[procedure]described{
	{remoteProgram, 318}: as[golibvirt.DomainEventCallbackLifecycleMsg]("a lifecycle event"),
	{remoteProgram, 319}: as[golibvirt.DomainEventCallbackRebootMsg]("a reboot event"),
	{remoteProgram, 379}: as[golibvirt.DomainEventCallbackMetadataChangeMsg]("a metadata event"),
}

// refusal is the front of an error, as far as, and in the way in which, the RPC client decodes it.
type refusal struct {
	Code, Domain, Present uint32
	Message               string
	Level                 uint32
}

// errShort refuses a message that announces more than it holds.
var errShort = errors.New("it announces more than it holds")

// errNoError refuses an error with the code of success.
var errNoError = errors.New("it is an error with the code of success")

// check reports whether all that the message speaks of is there.
func (d described) check(message []byte, status uint32) error {
	w := walk{message}
	switch {
	case status == statusError && len(message) >= 4 && binary.BigEndian.Uint32(message) == 0:
		return errNoError // the client takes it for a success, and decodes what is no answer
	case status == statusError:
		return w.over(reflect.TypeFor[refusal]())
	case d.into == nil:
		return nil
	}
	return w.over(d.into)
}

// walk goes over a message as the RPC client decodes it, and keeps nothing.
type walk struct{ rest []byte }

var typedParam = reflect.TypeFor[golibvirt.TypedParam]()

func (w *walk) over(t reflect.Type) error {
	if t == typedParam {
		return w.overParam()
	}
	switch t.Kind() { // libvirt's types are made of no others
	case reflect.Struct:
		for field := range t.Fields() {
			if err := w.over(field.Type); err != nil {
				return err
			}
		}
		return nil
	case reflect.String:
		n, err := w.uint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case reflect.Slice:
		return w.overList(t)
	case reflect.Array: // of bytes
		return w.skip(uint32(t.Len())) //nolint:gosec // a UUID
	case reflect.Int64, reflect.Uint64, reflect.Float64:
		return w.skip(8)
	default:
		return w.skip(4)
	}
}

// overList goes over as many elements as the list says. A value that may be missing is a list of at most one.
func (w *walk) overList(t reflect.Type) error {
	n, err := w.uint()
	if err != nil {
		return err
	}
	if n > 1 && strings.HasPrefix(t.Name(), "Opt") {
		return fmt.Errorf("%d as the presence of a value", n)
	}
	for range n {
		if err := w.over(t.Elem()); err != nil {
			return fmt.Errorf("a list of %d: %w", n, err)
		}
	}
	return nil
}

// overParam goes over a name and a value. The message says the value's type.
func (w *walk) overParam() error {
	if err := w.over(reflect.TypeFor[string]()); err != nil {
		return err
	}
	kind, err := w.uint()
	if err != nil {
		return err
	}
	switch golibvirt.TypedParameterType(kind) { //nolint:gosec // compared only
	case golibvirt.TypedParamInt, golibvirt.TypedParamUint, golibvirt.TypedParamBoolean:
		return w.skip(4)
	case golibvirt.TypedParamLlong, golibvirt.TypedParamUllong, golibvirt.TypedParamDouble:
		return w.skip(8)
	case golibvirt.TypedParamString:
		return w.over(reflect.TypeFor[string]())
	}
	return fmt.Errorf("a parameter of the unknown type %d", kind)
}

func (w *walk) uint() (uint32, error) {
	if len(w.rest) < 4 {
		return 0, errShort
	}
	n := binary.BigEndian.Uint32(w.rest)
	w.rest = w.rest[4:]
	return n, nil
}

// skip goes over n bytes, which are filled up to a multiple of four.
func (w *walk) skip(n uint32) error {
	padded := (uint64(n) + 3) &^ 3
	if padded > uint64(len(w.rest)) {
		return errShort
	}
	w.rest = w.rest[padded:]
	return nil
}
