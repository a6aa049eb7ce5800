/* tessera info: what carries messages between nodes. */
#include <stdio.h>
#include <stdlib.h>

#include "src/net/net.h"
#include "tessera/program.h"
#include "tools/info/info.h"

json_t *info_network(bool *failed)
{
	char text[TSR_NET_DESCRIPTION_BYTES];
	json_t *rows = json_array();

	(void)failed; /* a world of one node needs none */
	if (tsr_net_about(getenv("TESSERA_NET_PLUGIN"), text) == TSR_OK)
		(void)json_array_append_new(rows, json_pack("{s:s}", "carrier", text));
	else
		(void)json_array_append_new(rows, json_pack("{s:n, s:s}", "carrier", "reason",
							    tsr_last_error()));
	return rows;
}

void info_print_network(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *reason = json_object_get(row, "reason");
		printf("between nodes:\n");
		if (reason)
			printf("  none: %s\n", info_text(row, "reason"));
		else
			printf("  %s\n", info_text(row, "carrier"));
	}
}
