package fleets

import _ "time/tzdata" // the zones of windows are known where the system has no database of them, too
