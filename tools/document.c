#include "tools/document.h"

#include "tessera/version.h"

json_t *json_document(const char *schema, const json_t *members)
{
	json_t *document = json_pack("{s:s, s:s, s:s}", "schema", schema, "version",
				     tsr_version_text(), "commit", tsr_build_commit);
	if (document && json_object_update(document, (json_t *)members) == 0)
		return document;
	json_decref(document);
	return NULL;
}
