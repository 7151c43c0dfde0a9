// SPDX-License-Identifier: GPL-2.0
/* The DCB side: PFC, ETS, the APP table, rate limits, DCBX mode, port buffers. */
#include "labnic.h"

static struct dcb_app entry(struct labnic *nic, u8 dscp)
{
	return (struct dcb_app){
		.selector = IEEE_8021QAZ_APP_SEL_DSCP,
		.protocol = dscp,
		.priority = nic->dscp_prio[dscp],
	};
}

/* Puts the entry of one DSCP into the kernel's table, which takes its own lock. */
int labnic_publish(struct labnic *nic, u8 dscp)
{
	struct dcb_app app = entry(nic, dscp);
	int err = dcb_ieee_setapp(nic->dev, &app);

	if (err && err != -EEXIST)
		return err;
	set_bit(dscp, nic->published);
	return 0;
}

void labnic_withdraw(struct labnic *nic, u8 dscp)
{
	struct dcb_app app = entry(nic, dscp);

	if (!test_and_clear_bit(dscp, nic->published))
		return;
	dcb_ieee_delapp(nic->dev, &app);
}

void labnic_dcb_clear(struct labnic *nic)
{
	int i;

	for (i = 0; i < LABNIC_DSCPS; i++)
		labnic_withdraw(nic, i);
}

static int getpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct labnic *nic = labnic_of(dev);
	int i;

	*pfc = nic->pfc;
	for (i = 0; i < LABNIC_PRIOS; i++) {
		pfc->requests[i] = *labnic_counter(nic, nic->what->pfc_sent, i);
		pfc->indications[i] = *labnic_counter(nic, nic->what->pfc_received, i);
	}
	return 0;
}

/* A real mlx5 card also takes its link down and up; the lab leaves the link alone. */
static int setpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct labnic *nic = labnic_of(dev);
	int i;

	if (pfc->delay >= 1000)
		return -EINVAL;
	nic->pfc.pfc_en = pfc->pfc_en;
	if (pfc->delay)
		nic->pfc.delay = pfc->delay;
	for (i = 0; i < LABNIC_PRIOS; i++)	/* buffer 1 is the lossless one */
		nic->buffer.prio2buffer[i] = !!(pfc->pfc_en & BIT(i));
	return 0;
}

static int getets(struct net_device *dev, struct ieee_ets *ets)
{
	*ets = labnic_of(dev)->ets;
	return 0;
}

static int setets(struct net_device *dev, struct ieee_ets *ets)
{
	struct labnic *nic = labnic_of(dev);
	int err = nic->what->check_ets(ets);

	if (err)
		return err;
	nic->ets = *ets;
	nic->ets.ets_cap = LABNIC_PRIOS;
	nic->ets.cbs = 0;
	return 0;
}

static int getmaxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	*maxrate = labnic_of(dev)->maxrate;
	return 0;
}

static int setmaxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	labnic_of(dev)->maxrate = *maxrate;
	return 0;
}

static int setapp(struct net_device *dev, struct dcb_app *app)
{
	struct labnic *nic = labnic_of(dev);

	return nic->what->setapp(nic, app);
}

static int delapp(struct net_device *dev, struct dcb_app *app)
{
	struct labnic *nic = labnic_of(dev);

	return nic->what->delapp(nic, app);
}

static u8 getdcbx(struct net_device *dev)
{
	return labnic_of(dev)->dcbx;
}

static u8 setdcbx(struct net_device *dev, u8 mode)
{
	if (mode & DCB_CAP_DCBX_LLD_MANAGED)
		return 1;
	labnic_of(dev)->dcbx = mode;
	return 0;
}

static int getbuffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	*buffer = labnic_of(dev)->buffer;
	return 0;
}

static int setbuffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct labnic *nic = labnic_of(dev);
	u32 sum = 0;
	int i;

	for (i = 0; i < LABNIC_PRIOS; i++) {
		if (buffer->prio2buffer[i] >= DCBX_MAX_BUFFERS)
			return -EINVAL;
	}
	for (i = 0; i < DCBX_MAX_BUFFERS; i++)
		sum += round_up(buffer->buffer_size[i], LABNIC_CELL);
	if (sum > nic->buffer.total_size)
		return -EINVAL;
	memcpy(nic->buffer.prio2buffer, buffer->prio2buffer, sizeof(buffer->prio2buffer));
	memcpy(nic->buffer.buffer_size, buffer->buffer_size, sizeof(buffer->buffer_size));
	return 0;
}

const struct dcbnl_rtnl_ops labnic_dcbnl_ops = {
	.ieee_getpfc = getpfc,
	.ieee_setpfc = setpfc,
	.ieee_getets = getets,
	.ieee_setets = setets,
	.ieee_getmaxrate = getmaxrate,
	.ieee_setmaxrate = setmaxrate,
	.ieee_setapp = setapp,
	.ieee_delapp = delapp,
	.getdcbx = getdcbx,
	.setdcbx = setdcbx,
	.dcbnl_getbuffer = getbuffer,
	.dcbnl_setbuffer = setbuffer,
};
