// SPDX-License-Identifier: GPL-2.0
/* The personality of an mlx5 card (ConnectX): its counter names and its handling of DSCP. */
#include "labnic.h"

static const struct labnic_counter counters[] = {
	{ "rx_packets", LABNIC_RX_PACKETS },
	{ "rx_bytes", LABNIC_RX_BYTES },
	{ "tx_packets", LABNIC_TX_PACKETS },
	{ "tx_bytes", LABNIC_TX_BYTES },
	{ "rx_out_of_buffer", 0 },
	{ "rx_steer_missed_packets", 0 },
	{ "dev_internal_queue_oob", 0 },
	{ "rx_vport_rdma_unicast_packets", 0 },
	{ "rx_vport_rdma_unicast_bytes", 0 },
	{ "tx_vport_rdma_unicast_packets", 0 },
	{ "tx_vport_rdma_unicast_bytes", 0 },
	{ "tx_packets_phy", LABNIC_TX_PACKETS },
	{ "rx_packets_phy", LABNIC_RX_PACKETS },
	{ "rx_crc_errors_phy", 0 },
	{ "tx_bytes_phy", LABNIC_TX_BYTES },
	{ "rx_bytes_phy", LABNIC_RX_BYTES },
	{ "tx_pause_ctrl_phy", 0 },
	{ "rx_pause_ctrl_phy", 0 },
	{ "rx_oversize_pkts_phy", 0 },
	{ "rx_discards_phy", 0 },
	{ "tx_discards_phy", 0 },
	{ "tx_errors_phy", 0 },
	{ "rx_symbol_err_phy", 0 },
	{ "rx_pcs_symbol_err_phy", 0 },
	{ "rx_corrected_bits_phy", 0 },
	{ "link_down_events_phy", 0 },
	{ "rx_buffer_passed_thres_phy", 0 },
	{ "rx_pci_signal_integrity", 0 },
	{ "tx_pci_signal_integrity", 0 },
	{ "outbound_pci_stalled_rd", 0 },
	{ "outbound_pci_stalled_wr", 0 },
	{ "outbound_pci_stalled_rd_events", 0 },
	{ "outbound_pci_stalled_wr_events", 0 },
	{ "outbound_pci_buffer_overflow", 0 },
	{ "rx_prio%d_bytes", LABNIC_PRIO },
	{ "rx_prio%d_packets", LABNIC_PRIO },
	{ "rx_prio%d_discards", LABNIC_PRIO },
	{ "tx_prio%d_bytes", LABNIC_PRIO },
	{ "tx_prio%d_packets", LABNIC_PRIO },
	{ "rx_prio%d_buf_discard", LABNIC_PRIO },
	{ "rx_prio%d_cong_discard", LABNIC_PRIO },
	{ "rx_prio%d_marked", LABNIC_PRIO },
	{ "rx_prio%d_pause", LABNIC_PRIO | LABNIC_IF_PFC },
	{ "rx_prio%d_pause_duration", LABNIC_PRIO | LABNIC_IF_PFC },
	{ "tx_prio%d_pause", LABNIC_PRIO | LABNIC_IF_PFC },
	{ "tx_prio%d_pause_duration", LABNIC_PRIO | LABNIC_IF_PFC },
	{ "rx_prio%d_pause_transition", LABNIC_PRIO | LABNIC_IF_PFC },
	{ "rx_global_pause", LABNIC_IF_PAUSE },
	{ "rx_global_pause_duration", LABNIC_IF_PAUSE },
	{ "tx_global_pause", LABNIC_IF_PAUSE },
	{ "tx_global_pause_duration", LABNIC_IF_PAUSE },
	{ "rx_global_pause_transition", LABNIC_IF_PAUSE },
	{ "tx_pause_storm_warning_events", 0 },
	{ "tx_pause_storm_error_events", 0 },
	{ "module_unplug", 0 },
	{ "module_bus_stuck", 0 },
	{ "module_high_temp", 0 },
	{ "module_bad_shorted", 0 },
};

/* State after a reset: PFC off, PCP trusted, cable length 7 m, the card's default classes. */
static void mlx5_reset(struct labnic *nic)
{
	int i;

	nic->pfc = (struct ieee_pfc){ .pfc_cap = LABNIC_PRIOS, .delay = 7 };
	nic->ets = (struct ieee_ets){ .ets_cap = LABNIC_PRIOS };
	for (i = 0; i < LABNIC_PRIOS; i++) {
		nic->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
		/* priority 0 goes to class 1, priority 1 to class 0 */
		nic->ets.prio_tc[i] = i < 2 ? 1 - i : i;
	}
	for (i = 0; i < LABNIC_DSCPS; i++)
		nic->dscp_prio[i] = i >> 3;
}

static int mlx5_check_ets(const struct ieee_ets *ets)
{
	int i, sum = 0, classes = 0;

	for (i = 0; i < LABNIC_PRIOS; i++) {
		if (ets->prio_tc[i] >= LABNIC_PRIOS)
			return -EOPNOTSUPP;
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_CB_SHAPER)
			return -EOPNOTSUPP;
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			classes++;
			sum += ets->tc_tx_bw[i];
		}
	}
	return classes && sum != 100 ? -EINVAL : 0;
}

/* The first entry makes the card trust DSCP; then all 64 entries are published. */
static int mlx5_setapp(struct labnic *nic, struct dcb_app *app)
{
	int i;

	if (app->selector != IEEE_8021QAZ_APP_SEL_DSCP ||
	    app->protocol >= LABNIC_DSCPS || app->priority >= LABNIC_PRIOS)
		return -EINVAL;
	if (bitmap_empty(nic->published, LABNIC_DSCPS)) {
		nic->dscp_prio[app->protocol] = app->priority;
		for (i = 0; i < LABNIC_DSCPS; i++) {
			int err = labnic_publish(nic, i);

			if (err)
				return err;
		}
		return 0;
	}
	labnic_withdraw(nic, app->protocol);
	nic->dscp_prio[app->protocol] = app->priority;
	return labnic_publish(nic, app->protocol);
}

/* A deleted entry sends its DSCP to priority 0; with the last one the card trusts PCP again. */
static int mlx5_delapp(struct labnic *nic, struct dcb_app *app)
{
	if (app->selector != IEEE_8021QAZ_APP_SEL_DSCP || app->protocol >= LABNIC_DSCPS)
		return -EINVAL;
	if (!test_bit(app->protocol, nic->published) ||
	    nic->dscp_prio[app->protocol] != app->priority)
		return -ENOENT;
	labnic_withdraw(nic, app->protocol);
	nic->dscp_prio[app->protocol] = 0;
	return 0;
}

const struct labnic_personality labnic_mlx5 = {
	.name = "mlx5",
	.driver = "mlx5_core",
	.version = "6.1.0",
	.fw_version = "28.39.1002 (MT_0000000838)",
	.speed = SPEED_100000,
	.dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE,
	.counters = counters,
	.n_counters = ARRAY_SIZE(counters),
	.pfc_sent = "tx_prio%d_pause",
	.pfc_received = "rx_prio%d_pause",
	.reset = mlx5_reset,
	.check_ets = mlx5_check_ets,
	.setapp = mlx5_setapp,
	.delapp = mlx5_delapp,
};
