package libvirt

import (
	"encoding/xml"
	"strings"

	"hale/internal/core/fleet"
)

// metadataSpace is the XML namespace of an instance's texts in a domain's metadata. They stand beside the mark: the
// host's administrators may write them, also on machines that hale did not build.
const (
	metadataSpace  = "urn:hale:metadata:1"
	metadataPrefix = "halemeta"
)

// metadataXML are an instance's texts as they are read.
type metadataXML struct {
	Texts []struct {
		Key   string `xml:"key,attr"`
		Value string `xml:",chardata"`
	} `xml:"urn:hale:metadata:1 text"`
}

func (x *metadataXML) metadata() fleet.Metadata {
	if x == nil {
		return ""
	}
	texts := make(map[string]string, len(x.Texts))
	for _, t := range x.Texts {
		texts[t.Key] = t.Value
	}
	return fleet.MetadataOf(texts)
}

// encodeMetadata renders the texts as an element without a namespace, which libvirt adds.
func encodeMetadata(m fleet.Metadata) (string, error) {
	type text struct {
		Key   string `xml:"key,attr"`
		Value string `xml:",chardata"`
	}
	out := struct {
		XMLName xml.Name `xml:"metadata"`
		Texts   []text   `xml:"text"`
	}{}
	for key, value := range m.All() {
		out.Texts = append(out.Texts, text{key, value})
	}
	b, err := xml.Marshal(out)
	return string(b), err
}

// placeMetadata renders them as an element of the namespace, for a definition; nothing without any.
func placeMetadata(m fleet.Metadata) (string, error) {
	if m == "" {
		return "", nil
	}
	element, err := encodeMetadata(m)
	return strings.NewReplacer("<metadata>", "<"+metadataPrefix+":metadata xmlns:"+metadataPrefix+`="`+
		metadataSpace+`">`, "</metadata>", "</"+metadataPrefix+":metadata>",
		"<text ", "<"+metadataPrefix+":text ", "</text>", "</"+metadataPrefix+":text>").Replace(element), err
}
