/**
 * What `nvidia-smi -q -x` printed on other people's machines, cut to the lines that jobctl reads. From the tests of
 * influxdata/telegraf (plugins/inputs/nvidia_smi/testdata), whose users sent them in.
 */
const log = (driver: string, gpus: string): string => `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Fri Aug  4 11:44:30 2023</timestamp>
${driver}
${gpus}
</nvidia_smi_log>
`;

/** a100-sxm4-v12.xml: one of its four GPUs, each with four MIG devices. */
const A100_MIG_GPU = `	<gpu id="00000000:01:00.0">
		<product_name>NVIDIA A100-SXM4-80GB</product_name>
		<persistence_mode>Disabled</persistence_mode>
		<mig_mode>
			<current_mig>Enabled</current_mig>
			<pending_mig>Enabled</pending_mig>
		</mig_mode>
		<mig_devices>
			<mig_device>
				<index>0</index>
				<ecc_error_count>
					<volatile_count>
						<sram_uncorrectable>0</sram_uncorrectable>
					</volatile_count>
				</ecc_error_count>
			</mig_device>
		</mig_devices>
		<gpu_reset_status>
			<reset_required>No</reset_required>
			<drain_and_reset_recommended>No</drain_and_reset_recommended>
		</gpu_reset_status>
		<compute_mode>Default</compute_mode>
		<ecc_mode>
			<current_ecc>Enabled</current_ecc>
			<pending_ecc>Enabled</pending_ecc>
		</ecc_mode>
		<ecc_errors>
			<volatile>
				<sram_correctable>0</sram_correctable>
				<sram_uncorrectable>0</sram_uncorrectable>
				<dram_correctable>0</dram_correctable>
				<dram_uncorrectable>0</dram_uncorrectable>
			</volatile>
			<aggregate>
				<dram_uncorrectable>0</dram_uncorrectable>
			</aggregate>
		</ecc_errors>
		<retired_pages>
			<pending_retirement>N/A</pending_retirement>
		</retired_pages>
		<remapped_rows>N/A</remapped_rows>
	</gpu>`;
const A100_DRIVER = `	<driver_version>535.54.03</driver_version>
	<cuda_version>12.2</cuda_version>
	<attached_gpus>4</attached_gpus>`;
export const A100_MIG = log(A100_DRIVER, A100_MIG_GPU);

/** The same, as an A100 without MIG and with persistence is. Not recorded. */
const WELL_GPU = A100_MIG_GPU.replaceAll('<current_mig>Enabled', '<current_mig>Disabled')
  .replace('<persistence_mode>Disabled', '<persistence_mode>Enabled')
  .replace(/<mig_devices>[^]*<\/mig_devices>/, '<mig_devices>\n\t\t\tNone\n\t\t</mig_devices>');
export const wellGpus = (count: number, change = (gpu: string, _index: number): string => gpu): string =>
  log(
    A100_DRIVER,
    Array.from({ length: count }, (_, index) => change(WELL_GPU.replace(':01:', `:0${index}:`), index)).join('\n'),
  );

/** pro-6000-maxq-blackwell-v13.xml: ECC switched off, MIG and its counters not supported. */
export const BLACKWELL = log(
  `	<driver_version>590.44.01</driver_version>
	<cuda_version>13.1</cuda_version>
	<attached_gpus>1</attached_gpus>`,
  `	<gpu id="00000000:61:00.0">
		<product_name>NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition</product_name>
		<display_mode>Requested functionality has been deprecated</display_mode>
		<persistence_mode>Enabled</persistence_mode>
		<mig_mode>
			<current_mig>N/A</current_mig>
			<pending_mig>N/A</pending_mig>
		</mig_mode>
		<mig_devices>
			None
		</mig_devices>
		<gpu_recovery_action>None</gpu_recovery_action>
		<compute_mode>Default</compute_mode>
		<ecc_mode>
			<current_ecc>Disabled</current_ecc>
			<pending_ecc>Disabled</pending_ecc>
		</ecc_mode>
		<ecc_errors>
			<volatile>
				<sram_correctable>N/A</sram_correctable>
				<sram_uncorrectable_parity>N/A</sram_uncorrectable_parity>
				<sram_uncorrectable_secded>N/A</sram_uncorrectable_secded>
				<dram_correctable>N/A</dram_correctable>
				<dram_uncorrectable>N/A</dram_uncorrectable>
			</volatile>
			<channel_repair_pending>No</channel_repair_pending>
			<tpc_repair_pending>No</tpc_repair_pending>
			<unrepairable_memory>N/A</unrepairable_memory>
		</ecc_errors>
		<remapped_rows>
			<remapped_row_corr>0</remapped_row_corr>
			<remapped_row_unc>0</remapped_row_unc>
			<remapped_row_pending>No</remapped_row_pending>
			<remapped_row_failure>No</remapped_row_failure>
		</remapped_rows>
	</gpu>`,
);

/** 1Panel-dev/1Panel#9504: a card of 2011 with driver 390, which has no CUDA version in this answer. */
export const GEFORCE_410M = log(
  `        <driver_version>390.157</driver_version>
        <attached_gpus>1</attached_gpus>`,
  `        <gpu id="00000000:01:00.0">
                <product_name>GeForce 410M</product_name>
                <product_brand>GeForce</product_brand>
                <display_mode>N/A</display_mode>
                <persistence_mode>Disabled</persistence_mode>
                <ecc_mode>
                        <current_ecc>N/A</current_ecc>
                </ecc_mode>
                <ecc_errors>
                        <volatile>
                                <single_bit>
                                        <total>N/A</total>
                                </single_bit>
                                <double_bit>
                                        <device_memory>N/A</device_memory>
                                        <total>N/A</total>
                                </double_bit>
                        </volatile>
                </ecc_errors>
        </gpu>`,
);
