package libvirt

import (
	"encoding/xml"

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

// encodeMetadata renders the texts as an element of the namespace; nothing without any.
func encodeMetadata(m fleet.Metadata) (string, error) {
	if m == "" {
		return "", nil
	}
	type text struct {
		XMLName xml.Name
		Key     string `xml:"key,attr"`
		Value   string `xml:",chardata"`
	}
	out := struct {
		XMLName xml.Name
		Space   string `xml:"xmlns:halemeta,attr"`
		Texts   []text
	}{XMLName: xml.Name{Local: metadataPrefix + ":metadata"}, Space: metadataSpace}
	for key, value := range m.All() {
		out.Texts = append(out.Texts, text{XMLName: xml.Name{Local: metadataPrefix + ":text"}, Key: key, Value: value})
	}
	b, err := xml.Marshal(out)
	return string(b), err
}
