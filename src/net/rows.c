/* Rows that are sent in pieces. */
#include <string.h>

#include "src/net/state.h"

/** Packs a piece into the record, without gaps between its rows. */
static void pack(const tsr_net_source_t *source, const tsr_net_piece_t *piece,
		 unsigned char *staged)
{
	if (source->memory != NULL) {
		source->memory->read(source->memory->ctx,
				     (tsr_net_rows_t){.offset = source->offset +
								piece->row * source->pitch_bytes +
								piece->column,
						      .pitch_bytes = source->pitch_bytes,
						      .row_bytes = piece->row_bytes,
						      .rows = piece->rows},
				     staged);
		return;
	}
	for (uint64_t i = 0; i < piece->rows; i++)
		memcpy(staged + i * piece->row_bytes,
		       source->base + (piece->row + i) * source->pitch_bytes, piece->row_bytes);
}

tsr_net_piece_t tsr_net_cut(const tsr_net_source_t *source, uint64_t *row, uint64_t *column,
			    size_t most, tsr_net_sending_t *sending)
{
	tsr_net_piece_t piece = {.row = *row, .column = *column, .rows = 1};
	if (source->row_bytes > most) {
		const uint64_t left = source->row_bytes - *column;
		piece.row_bytes = left < most ? left : most;
		*column += piece.row_bytes;
		if (*column == source->row_bytes)
			*row += 1, *column = 0;
	} else {
		const uint64_t fit = most / source->row_bytes, left = source->rows - *row;
		piece.row_bytes = source->row_bytes;
		piece.rows = left < fit ? left : fit;
		*row += piece.rows;
	}
	const bool gaps = piece.rows > 1 && source->pitch_bytes != source->row_bytes;
	if (gaps || source->memory != NULL)
		pack(source, &piece, sending->staged);
	piece.data = gaps || source->memory != NULL
			     ? sending->staged
			     : source->base + piece.row * source->pitch_bytes + piece.column;
	return piece;
}
