package diag

// Of idemgen.yaml.
const (
	SettingsVersion Code = "IDEM140"
	UnknownSetting  Code = "IDEM141"
	BadSetting      Code = "IDEM142"
	BadFolder       Code = "IDEM143"
	SettingsClash   Code = "IDEM144"
	NoModule        Code = "IDEM145"
)

var settingsCodes = []Info{
	{SettingsVersion, "idemgen.yaml has no version, or one that this idemgen does not know"},
	{UnknownSetting, "idemgen.yaml has a setting that idemgen does not know"},
	{BadSetting, "a setting has a value that does not fit"},
	{BadFolder, "a folder or file of idemgen.yaml is outside the project, or no place for Go code"},
	{SettingsClash, "two settings contradict each other"},
	{NoModule, "the project is not in a Go module"},
}
